import { describe, expect, test } from 'vitest';
import { HOUR } from '../../../src/core/clock.ts';
import { listId } from '../../../src/core/lists.ts';
import { type DueList, readAgenda } from '../../../src/sync/planning/agenda.ts';
import { cronsOf } from '../../../src/sync/planning/cron.ts';
import { markDue } from '../../../src/sync/planning/due.ts';
import { type Load, loadOf } from '../../../src/sync/planning/load/load.ts';
import type { TestMirror } from '../../support/mirror.ts';
import { quickMirror } from '../../support/template.ts';

const HOURLY = { inboxes: '0 * * * *', users: '0 * * * *', tags: '0 * * * *', conversations: '0 * * * *' };
const CRONS = cronsOf(HOURLY, 'UTC');
const BUDGET = { perSecond: 1, perDay: 480, reserved: 0, pageSize: 10 };

/** The lists that are due after an hour, in order. */
async function dueAfterAnHour({ writer, clock }: TestMirror): Promise<DueList[]> {
  clock.advance(HOUR);
  await markDue(writer.schedules, CRONS, clock.now());
  const { due } = await readAgenda(writer, {
    budget: BUDGET,
    readsPages: false,
    isBeingRead: () => false,
    now: clock.now(),
  });
  return due;
}

/** Breaks the next pass off when the second page of conversations is requested. */
async function syncHalf(mirror: TestMirror): Promise<void> {
  const stop = new AbortController();
  mirror.sandbox.script(({ path }) => {
    if (path.includes('/conversations?') && path.includes('next_page')) stop.abort(new Error('stopped'));
    return undefined;
  });
  await mirror.sync({ lists: ['conversations'] }, stop.signal);
  mirror.sandbox.script(undefined);
}

describe('the agenda', () => {
  test('leaves out the lists of an inbox that may be gone', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [8, 8] } });
    await mirror.sync();
    const [kept, gone] = [...mirror.sandbox.world.inboxes.keys()];
    mirror.sandbox.world.removeInbox(gone!);
    await mirror.sync({ lists: ['inboxes'] });
    const due = (await dueAfterAnHour(mirror)).map(({ key }) => listId(key));
    expect(due.toSorted()).toEqual([`conversations/${kept}`, 'inboxes', `tags/${kept}`, `users/${kept}`]);
  });

  test('counts for an open sweep only the pages that it has not read', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [95] }, pageSize: 10 });
    await mirror.sync();
    mirror.clock.advance(HOUR);
    await syncHalf(mirror);
    const [open] = await mirror.database.query<{ pages: number }>(
      `SELECT pages FROM sweeps WHERE state IN ('running', 'paused')`,
    );
    expect(open!.pages).toBeGreaterThan(0);
    const list = (await dueAfterAnHour(mirror)).find(({ key }) => key.list === 'conversations');
    expect(list).toMatchObject({ requests: 10 - open!.pages, first: false });
  });
});

test('the agenda counts every request of an open sweep as spent, also those without a page', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [95] }, pageSize: 10 });
  await mirror.sync();
  mirror.clock.advance(HOUR);
  const stop = new AbortController();
  let later = 0;
  mirror.sandbox.script(({ path }) => {
    if (!path.includes('/conversations?') || !path.includes('next_page')) return undefined;
    later += 1;
    if (later === 3) stop.abort(new Error('stopped'));
    return later === 1 ? { status: 500 } : undefined;
  });
  await mirror.sync({ lists: ['conversations'] }, stop.signal);
  mirror.sandbox.script(undefined);
  const [open] = await mirror.database.query<{ pages: number; requests: number }>(
    `SELECT pages, requests FROM sweeps WHERE state IN ('running', 'paused')`,
  );
  expect(open!.requests).toBeGreaterThan(open!.pages);
  const list = (await dueAfterAnHour(mirror)).find(({ key }) => key.list === 'conversations');
  expect(list?.spent).toBe(open!.requests);
});

describe('the load of all schedules', () => {
  const loadAt = async ({ writer, clock }: TestMirror, perDay: number): Promise<Load> =>
    await loadOf(
      writer,
      CRONS,
      { budget: { ...BUDGET, perDay }, readPages: { stretches: false } },
      clock.now(),
    );

  test('leaves no request for single pages where the schedules want more than there is', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [25] }, pageSize: 10 });
    await mirror.sync();
    const load = await loadAt(mirror, 20);
    expect(load.wanted).toBeGreaterThan(load.available);
    expect(load.pages?.requests).toBe(0);
  });

  test('expects single pages of a list that was never complete', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [95] }, pageSize: 10 });
    await mirror.sync({ lists: ['inboxes', 'users', 'tags'] });
    expect((await loadAt(mirror, 480)).pages?.areWhole).toBe(false);
    await mirror.sync();
    await mirror.database.execute('DELETE FROM bookmarks');
    expect((await loadAt(mirror, 480)).pages?.areWhole).toBe(true);
  });
});
