import { describe, expect, test } from 'vitest';
import type { TestMirror } from '../support/mirror.ts';
import { quickMirror } from '../support/template.ts';
import { rawText } from '../support/rows.ts';
import { addTrigger } from '../support/triggers.ts';
import { expectEqualToService } from '../support/truth.ts';

const MIRRORED = ['inboxes', 'inbox_users', 'inbox_tags', 'conversations', 'conversation_tags'];

/** Makes the database count every row that is written to a mirrored table or to `changes`. */
async function watchWrites({ database }: TestMirror): Promise<() => Promise<number>> {
  await database.execute(`CREATE TABLE writes_seen (what TEXT)`);
  for (const table of [...MIRRORED, 'changes']) {
    for (const verb of ['INSERT', 'UPDATE', 'DELETE'] as const) {
      const does = `INSERT INTO writes_seen VALUES ('${verb} ${table}')`;
      await addTrigger(database, { name: `watch_${table}_${verb}`, when: 'AFTER', verb, table, does });
    }
  }
  return async () => (await database.query(`SELECT what FROM writes_seen`)).length;
}

describe('after a sync, the mirror', () => {
  for (const envelope of ['data', 'top'] as const) {
    for (const idType of ['string', 'number', 'mixed'] as const) {
      test(`equals the service, with the ${envelope} envelope and ${idType} ids past 2^53`, async () => {
        const mirror = await quickMirror({
          sandbox: { envelope, idType, conversations: [130, 40, 0], sharedShare: 0.3 },
        });
        const { stopped, lists } = await mirror.sync();
        expect(stopped).toBeNull();
        expect(lists.every(({ outcome }) => outcome === 'complete')).toBe(true);
        expect([...mirror.sandbox.world.inboxes.keys()].some((id) => BigInt(id) > 2n ** 53n)).toBe(true);
        await expectEqualToService(mirror);
        await mirror.sync();
        await expectEqualToService(mirror);
      });
    }
  }

  for (const timestamps of ['milliseconds', 'microseconds', 'iso'] as const) {
    for (const lastPage of ['missing', 'empty'] as const) {
      test(`equals the service, with ${timestamps} and a last page whose next_page is ${lastPage}`, async () => {
        const mirror = await quickMirror({
          sandbox: { timestamps, lastPage, conversations: [20, 15, 10, 0], tagsPerInbox: 10 },
          pageSize: 10,
        });
        const { lists } = await mirror.sync();
        expect(lists.every(({ outcome, rejected }) => outcome === 'complete' && rejected === 0)).toBe(true);
        await expectEqualToService(mirror);
      });
    }
  }

  test('has the item’s JSON in `raw`, which SQL can query, with every digit of the id', async () => {
    const mirror = await quickMirror({ sandbox: { idType: 'number', conversations: [30] } });
    await mirror.sync();
    const rows = await mirror.database.query<{
      id: string;
      status: string;
      in_raw: string;
      raw_status: string;
    }>(
      `SELECT id, status, CAST(${rawText('id')} AS TEXT) AS in_raw, ${rawText('status')} AS raw_status FROM conversations`,
    );
    expect(rows.length).toBe(30);
    for (const row of rows) expect(row).toMatchObject({ in_raw: row.id, raw_status: row.status });
  });

  test('has the public permalink only if the option asks for it', async () => {
    const shown = async (storePublicPermalink: boolean): Promise<number> => {
      const mirror = await quickMirror({ sandbox: { conversations: [12] }, storePublicPermalink });
      await mirror.sync();
      const [conversation] = mirror.sandbox.world.inboxes.values().next().value!.conversations.values();
      const rows = await mirror.database.query(
        `SELECT id FROM conversations WHERE CAST(raw AS TEXT) LIKE '%' || $1 || '%'`,
        conversation!.public_permalink,
      );
      return rows.length;
    };
    expect(await shown(false)).toBe(0);
    expect(await shown(true)).toBe(1);
  });
});

describe('a sync', () => {
  const conversations = [250, 100, 101, 0];
  const inboxes = conversations.length;
  const pages = 1 + inboxes * 2 + [3, 1, 2, 1].reduce((sum, count) => sum + count);

  test('costs exactly the existing pages, and an unchanged second one writes no row', async () => {
    const mirror = await quickMirror({ sandbox: { conversations, sharedShare: 0 } });
    await mirror.sync();
    expect(mirror.sandbox.arrivals.length).toBe(pages);
    const written = await watchWrites(mirror);
    mirror.clock.advance(3_600_000);
    await mirror.sync();
    expect(mirror.sandbox.arrivals.length).toBe(2 * pages);
    expect(await written()).toBe(0);
    // Proves that the counter works.
    const [inbox] = mirror.sandbox.world.inboxes.values();
    mirror.sandbox.world.setStatus(inbox!.id, inbox!.conversations.order[0]!, 'new-status');
    await mirror.sync();
    expect(await written()).toBe(2);
  });

  test('costs each page of inboxes, users and tags lists with more than one page', async () => {
    const mirror = await quickMirror({
      pageSize: 10,
      sandbox: { inboxes: 11, conversations: 0, usersPerInbox: 21, tagsPerInbox: 10 },
    });
    await mirror.sync();
    expect(mirror.sandbox.arrivals.length).toBe(2 + 11 * (3 + 1 + 1));
    await expectEqualToService(mirror);
  });

  test('leaves a ledger row for each request, and its sweeps report the same cost', async () => {
    const mirror = await quickMirror({ sandbox: { conversations, sharedShare: 0 } });
    await mirror.sync();
    const [ledger] = await mirror.database.query<{ n: number }>(
      `SELECT count(*) AS n FROM requests WHERE status = 200`,
    );
    const [sweeps] = await mirror.database.query<{ n: number }>(`SELECT sum(requests) AS n FROM sweeps`);
    expect({ ledger: ledger!.n, sweeps: sweeps!.n }).toEqual({ ledger: pages, sweeps: pages });
  });
});
