import { existsSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { HOUR } from '../../src/core/clock.ts';
import { createHttp } from '../../src/service/http.ts';
import { TestClock } from '../support/clock.ts';
import { startChild } from '../support/child.ts';
import { KEY, mirrorOf, newPlace } from '../support/mirror.ts';
import { ON_SQLITE, urlOf } from '../support/provider.ts';
import { changesIn, count, firstIds, firstInbox, removeConversations } from '../support/rows.ts';
import { rule } from '../support/rule.ts';
import { freshMirrorFile } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const PAGE_SIZE = 10;

/** A moment for a kill: `ms` milliseconds after the child's `nth` request arrived. */
type Moment = readonly [nth: number, ms: number];

async function listening(options: Partial<SandboxOptions>): Promise<{ sandbox: Sandbox; url: string }> {
  const sandbox = createSandbox({ rate: 0, perDay: 0, ...options });
  const { url, close } = await sandbox.listen();
  onTestFinished(() => close());
  return { sandbox, url };
}

/**
 * Runs the child until it completes, and kills it once at each moment.
 * `counts` selects the requests that the moments count.
 */
async function syncThroughKills(
  { sandbox, url, path }: { sandbox: Sandbox; url: string; path: string },
  moments: readonly Moment[],
  counts: (path: string) => boolean = () => true,
): Promise<{ kills: number }> {
  let kills = 0;
  for (const moment of [...moments, null]) {
    const child = startChild(url, urlOf(path), String(PAGE_SIZE));
    let arrived = 0;
    sandbox.script((request) => {
      if (moment === null || !counts(request.path)) return undefined;
      arrived += 1;
      if (arrived !== moment[0]) return undefined;
      if (moment[1] === 0) child.process.kill('SIGKILL');
      else setTimeout(() => child.process.kill('SIGKILL'), moment[1]);
      return undefined;
    });
    const end = await child.ended;
    sandbox.script(undefined);
    if (end === null) kills += 1;
    else expect(end).toBe('complete');
    await withDatabase(path, async (database) => {
      expect(await count(database, 'requests')).toBeGreaterThanOrEqual(sandbox.arrivals.length);
    });
    if (end !== null) break;
  }
  return { kills };
}

async function withDatabase(path: string, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase(urlOf(path));
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

/** Syncs in this process, without a kill. */
async function syncHere({ sandbox, url, path }: { sandbox: Sandbox; url: string; path: string }) {
  const http = createHttp(url, () => KEY);
  const mirror = await mirrorOf({
    path,
    pageSize: PAGE_SIZE,
    service: { sandbox, url, http },
    goneAfterMs: 0,
    clock: new TestClock(Date.now() - HOUR),
  });
  expect((await mirror.sync()).stopped).toBeNull();
  http.close();
  await mirror.lease.release();
  await mirror.database.close();
}

/** For each list, the number of page requests that repeat an earlier one. */
function repeatsOf(arrivals: readonly { path: string }[]): Map<string, number> {
  const seen = new Set<string>();
  const repeats = new Map<string, number>();
  for (const { path } of arrivals) {
    const [list] = path.split('?');
    if (seen.has(path)) repeats.set(list!, (repeats.get(list!) ?? 0) + 1);
    seen.add(path);
  }
  return repeats;
}

describe('SIGKILL', () => {
  test('at any moment of a first sync loses no applied page, and each kill repeats at most one per list', async () => {
    const { sandbox, url } = await listening({
      conversations: [155, 95, 60],
      usersPerInbox: 14,
      tagsPerInbox: 11,
    });
    const path = await newPlace();
    const moments: Moment[] = [
      [1, 3],
      [4, 0],
      [6, 5],
      [5, 12],
      [8, 1],
    ];
    const { kills } = await syncThroughKills({ sandbox, url, path }, moments);
    expect(kills).toBeGreaterThanOrEqual(4);
    for (const [list, times] of repeatsOf(sandbox.arrivals))
      expect({ list, times: times <= kills }).toEqual({ list, times: true });
    const pages = 1 + 3 * 2 + 3 * 2 + 16 + 10 + 6;
    // At most four requests are under way at a kill, each for another list.
    expect(sandbox.arrivals.length).toBeLessThanOrEqual(pages + 4 * kills);
    await withDatabase(path, async (database) => {
      await expectEqualToService({ database, sandbox });
      expect(await count(database, `sweeps WHERE state <> 'complete'`)).toBe(0);
      expect(await changesIn(database)).toEqual([]);
    });
  });

  test('during the write of a page with changes leaves each change recorded once', async () => {
    const { sandbox, url } = await listening({ conversations: [105] });
    const path = await freshMirrorFile();
    await syncHere({ sandbox, url, path });
    const inbox = firstInbox(sandbox);
    const ids = firstIds(inbox.conversations, 105);
    for (const id of ids) sandbox.world.setStatus(inbox.id, id, 'after the first sync');
    await syncThroughKills({ sandbox, url, path }, [
      [5, 2],
      [3, 6],
    ]);
    await withDatabase(path, async (database) => {
      await expectEqualToService({ database, sandbox });
      expect((await changesIn(database)).map(({ item_id }) => item_id).sort()).toEqual(ids.toSorted());
    });
  });

  rule('while the sweep asks for suspects causes no page to be read again', async () => {
    const { sandbox, url } = await listening({ conversations: [55] });
    const path = await freshMirrorFile();
    await syncHere({ sandbox, url, path });
    const inbox = firstInbox(sandbox);
    const gone = firstIds(inbox.conversations, 15);
    removeConversations({ sandbox }, inbox.id, gone);
    const before = sandbox.arrivals.length;
    const isSingle = (asked: string): boolean => /conversations\/\d+$/.test(asked);
    const moments: Moment[] = [
      [3, 2],
      [4, 0],
    ];
    const { kills } = await syncThroughKills({ sandbox, url, path }, moments, isSingle);
    expect(kills).toBe(moments.length);
    const since = sandbox.arrivals.slice(before);
    const asked = since.filter((arrival) => isSingle(arrival.path));
    expect(since.length - asked.length).toBe(1 + 1 + 1 + 4);
    // Each process asks a control question first, and for one suspect again. Each five suspects end with a
    // control question: a crash before it costs their questions.
    const parts = gone.length / 5 + kills;
    expect(asked.length).toBeLessThanOrEqual(gone.length + 5 * kills + 2 * (kills + 1) + parts);
    await withDatabase(path, async (database) => {
      await expectEqualToService({ database, sandbox });
      expect((await changesIn(database)).map(({ item_id }) => item_id).sort()).toEqual(gone.toSorted());
    });
  });

  test('during the creation of the tables leaves a database that the next process can use', async () => {
    for (const ms of ON_SQLITE ? [0, 25, 75, 150] : [300, 400]) {
      const path = await newPlace();
      const child = startChild('open-only', urlOf(path));
      const begun = (): boolean => !ON_SQLITE || existsSync(path) || child.process.exitCode !== null;
      while (!begun()) await new Promise(setImmediate);
      const timer = setTimeout(() => child.process.kill('SIGKILL'), ms);
      await child.ended;
      clearTimeout(timer);
      await withDatabase(path, async (database) => {
        expect(
          await count(database, '_prisma_migrations WHERE finished_at IS NOT NULL'),
        ).toBeGreaterThanOrEqual(1);
        expect(await count(database, 'conversations')).toBe(0);
        if (ON_SQLITE)
          expect(await database.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      });
    }
  });
});

test('several processes that open a new mirror at once all succeed', async () => {
  const path = await newPlace();
  const children = Array.from({ length: 3 }, () => startChild('open-only', urlOf(path)));
  expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(['complete', 'complete', 'complete']);
});
