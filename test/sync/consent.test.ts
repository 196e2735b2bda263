import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import type { PassSpec } from '../../src/mirror/passes/passes.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import type { TestMirror } from '../support/mirror.ts';
import { passSpec } from '../support/pass-spec.ts';
import { conversationsDownAfter, downFrom } from '../support/outage.ts';
import { count, firstIds, firstInbox, removeConversations, reportOn, tampered } from '../support/rows.ts';
import { rule } from '../support/rule.ts';
import { syncedMirror, syncTwice } from '../support/settle.ts';
import { expectEqualToService } from '../support/truth.ts';

test('a consent to an account is none to another account that follows in the same pass', async () => {
  let account = 'first';
  const mirror = await syncedMirror(0, {
    sandbox: { conversations: [12, 8] },
    address: () => `http://${account}.example/v1`,
    wrapHttp: tampered((page, path) => {
      for (const row of page.results) {
        if (path === '/inboxes' && account !== 'first')
          row['email'] = `${String(row['id'])}@${account}.example`;
        if (path.endsWith('/conversations') && account === 'third') row['status'] = 'foreign';
      }
      if (path.endsWith('/users') && account === 'second') account = 'third';
    }),
  });
  account = 'second';
  const { stopped } = await mirror.sync({ acceptAccount: true });
  expect(await count(mirror.database, `conversations WHERE status = 'foreign'`)).toBe(0);
  expect(stopped).toMatchObject({ code: 'OTHER_ACCOUNT' });
});

describe('a consent to deletions', () => {
  const consent = { kind: 'resync', lists: ['users', 'conversations'], acceptDeletes: true } as const;

  /** A mirror that holds the deletion of 30 of its 100 conversations. */
  async function holding(lists: { empty: boolean }): Promise<TestMirror> {
    const mirror = await syncedMirror(100, {
      wrapHttp: tampered((page, path) => {
        if (lists.empty && path.endsWith('/conversations')) page.results = [];
      }),
    });
    const { id, conversations } = firstInbox(mirror.sandbox);
    removeConversations(mirror, id, firstIds(conversations, 30));
    expect(reportOn(await syncTwice(mirror), 'conversations')).toMatchObject({ held: 30 });
    return mirror;
  }

  rule(
    'covers the rows that were missing when it was given, not those of a list that is empty since',
    async () => {
      const lists = { empty: false };
      const mirror = await holding(lists);
      const order = await mirror.writer.orders.place(passSpec(consent), mirror.clock.now());
      mirror.clock.advance(HOUR);
      lists.empty = true;
      const report = await mirror.sync({ ...consent, orderId: order.id });
      expect(reportOn(report, 'conversations')).toMatchObject({
        outcome: 'complete',
        deleted: 30,
        suspects: 0,
      });
      await expectEqualToService(mirror);
    },
  );

  rule('is as young as the command that repeats it', async () => {
    const lists = { empty: false };
    const mirror = await holding(lists);
    mirror.sandbox.script(() => 'reset');
    expect((await mirror.sync(consent)).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    mirror.clock.advance(HOUR);
    const { id, conversations } = firstInbox(mirror.sandbox);
    removeConversations(mirror, id, firstIds(conversations, 5));
    await mirror.sync({ lists: ['conversations'] });
    const report = await mirror.sync(consent);
    expect(report.pass.resumed).toBe(true);
    expect(reportOn(report, 'conversations')).toMatchObject({ deleted: 35, held: 0 });
  });

  rule.each([
    ['takes over an order that no daemon has begun', false],
    ['joins an order that waits for the daemon', true],
  ])('is as young as the command that %s', async (_, joins) => {
    const mirror = await holding({ empty: false });
    const place = async (): Promise<{ id: number }> =>
      await mirror.writer.orders.place(passSpec(consent), mirror.clock.now());
    const { id: orderId } = await place();
    mirror.clock.advance(HOUR);
    const { id, conversations } = firstInbox(mirror.sandbox);
    removeConversations(mirror, id, firstIds(conversations, 25));
    await mirror.sync({ lists: ['conversations'] });
    if (joins) expect(await place()).toEqual({ id: orderId, joined: true });
    const report = await mirror.sync(joins ? { ...consent, orderId } : consent);
    expect(report.pass.id).toBe(orderId);
    expect(reportOn(report, 'conversations')).toMatchObject({ deleted: 55, held: 0 });
  });

  test('covers no row that its own interrupted sweep was the first not to list', async () => {
    const lists = { empty: false };
    const mirror = await holding(lists);
    lists.empty = true;
    mirror.clock.advance(HOUR);
    downFrom(mirror, (path) => /conversations\/\d/.test(path));
    expect((await mirror.sync(consent)).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    lists.empty = false;
    mirror.clock.advance(HOUR);
    expect((await mirror.sync(consent)).pass.resumed).toBe(true);
    expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(30);
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test.each<[string, () => ScriptedOutcome]>([
    ['no answer', () => 'reset'],
    ['a 500', () => ({ status: 500 })],
    ['a 503 that asks to wait', () => ({ status: 503, headers: { 'retry-after': '600' } })],
    ['a 429 that asks to wait', () => ({ status: 429, headers: { 'retry-after': '600' } })],
    ['a page of HTML', () => ({ status: 200, body: '<html>' })],
  ])(
    'that was interrupted deletes no row that came back, if questions about rows get %s',
    async (_, answer) => {
      const mirror = await syncedMirror(100, { pageSize: 10 });
      const { id, conversations } = firstInbox(mirror.sandbox);
      const hidden = firstIds(conversations, 30);
      removeConversations(mirror, id, hidden);
      await syncTwice(mirror);
      const accepted = { kind: 'resync', acceptDeletes: true } as const;
      conversationsDownAfter(3, mirror);
      expect(reportOn(await mirror.sync(accepted), 'conversations')).toMatchObject({ outcome: 'paused' });
      for (const item of hidden) mirror.sandbox.world.restoreConversation(id, item);
      mirror.sandbox.script(({ path }) => (/conversations\/\d+/.test(path) ? answer() : undefined));
      for (let run = 0; run < 3; run++) {
        mirror.clock.advance(10 * MINUTE);
        const { pass } = await mirror.sync(accepted);
        if (run === 0) expect(pass.resumed).toBe(true);
        expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(0);
      }
      mirror.sandbox.script(undefined);
      mirror.clock.advance(HOUR);
      await mirror.sync(accepted);
      await expectEqualToService(mirror);
    },
  );

  rule('covers no later rows because the clock was set ahead just before it was given', async () => {
    const lists = { empty: false };
    const mirror = await holding(lists);
    mirror.clock.setWall(24 * HOUR);
    const { id: orderId } = await mirror.writer.orders.place(passSpec(consent), mirror.clock.now());
    mirror.sandbox.script(() => 'reset');
    expect((await mirror.sync({ ...consent, orderId })).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    lists.empty = true;
    mirror.sandbox.script(({ path }) => (/conversations\/\d/.test(path) ? 'reset' : undefined));
    mirror.clock.advance(HOUR);
    await mirror.sync();
    mirror.sandbox.script(undefined);
    mirror.clock.advance(1000);
    await mirror.sync({ ...consent, orderId });
    expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(30);
  });

  rule.each([
    ['a sweep of its own', false],
    ['a sweep that a plain sync ends', true],
  ])('lets no other row pass the brake with those that it covers, in %s', async (_, isCutOff) => {
    const mirror = await holding({ empty: false });
    const deleted = async (): Promise<number> =>
      await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`);
    const remove = async (many: number, spec: Partial<PassSpec>): Promise<void> => {
      const { id, conversations } = firstInbox(mirror.sandbox);
      removeConversations(mirror, id, firstIds(conversations, many));
      mirror.clock.advance(HOUR);
      await mirror.sync(spec);
    };
    if (isCutOff)
      mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? 'reset' : undefined));
    await remove(15, consent);
    expect(await deleted()).toBe(30);
    mirror.sandbox.script(undefined);
    mirror.clock.advance(HOUR);
    await mirror.sync();
    if (isCutOff) {
      expect(await deleted()).toBe(30);
      await mirror.sync();
    }
    expect(await deleted()).toBe(45);
    await remove(10, {});
    expect(await deleted()).toBe(45);
  });
});
