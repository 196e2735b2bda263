import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import { type Agenda, readAgenda } from '../../../src/sync/planning/agenda.ts';
import { cronsOf } from '../../../src/sync/planning/cron.ts';
import { markDue } from '../../../src/sync/planning/due.ts';
import { nthInbox } from '../../support/rows.ts';
import type { TestMirror } from '../../support/mirror.ts';
import { quickMirror } from '../../support/template.ts';

const CRONS = cronsOf(
  { inboxes: '0 * * * *', users: '0 * * * *', tags: '0 * * * *', conversations: '0 * * * *' },
  'UTC',
);
const BUDGET = { perSecond: 1, perDay: 480, reserved: 0, pageSize: 10 };

interface DueOptions {
  readonly perDay?: number;
  readonly resting?: string;
  readonly pagesNeedMost?: boolean;
}

/** The inboxes whose conversations are due after some minutes, while single pages are read. */
async function dueAfter(mirror: TestMirror, minutes: number, options: DueOptions = {}): Promise<string[]> {
  return (await agendaAfter(mirror, minutes, options)).due.flatMap(({ key }) =>
    key.list === 'conversations' ? [key.inboxId!] : [],
  );
}

/** The agenda after some minutes, while single pages are read. */
async function agendaAfter(
  { writer, clock }: TestMirror,
  minutes: number,
  { perDay = 480, resting, pagesNeedMost = false }: DueOptions = {},
): Promise<Agenda> {
  clock.advance(minutes * MINUTE);
  await markDue(writer.schedules, CRONS, clock.now());
  return await readAgenda(writer, {
    budget: { ...BUDGET, perDay },
    readsPages: true,
    isBeingRead: () => false,
    isResting: ({ list, inboxId }) => list === 'conversations' && inboxId === resting,
    pagesNeedMost,
    now: clock.now(),
  });
}

/** Two lists without bookmarks, after a slot: the short one has been read, and some pages of the long one. */
async function halfRead(
  pages: number,
  answer?: { status: number },
): Promise<TestMirror & { short: string; long: string }> {
  const mirror = await quickMirror({ sandbox: { conversations: [8, 95], listOrder: 'mixed' }, pageSize: 10 });
  const { clock, sandbox } = mirror;
  await mirror.sync();
  clock.advance(HOUR - (clock.now() % HOUR));
  const stop = new AbortController();
  let read = 1;
  sandbox.script(({ path }) => {
    if (!path.includes('/conversations?') || !path.includes('next_page')) return undefined;
    read += 1;
    if (read <= pages) return undefined;
    if (answer === undefined) stop.abort(new Error('stopped'));
    return answer;
  });
  await mirror.sync({ lists: ['conversations'] }, stop.signal);
  sandbox.script(undefined);
  return { ...mirror, short: nthInbox(sandbox, 0).id, long: nthInbox(sandbox, 1).id };
}

test('a list without bookmarks is not walked again before all were read since their slot', async () => {
  const mirror = await halfRead(3);
  expect(await dueAfter(mirror, 20)).toEqual([mirror.long]);
  await mirror.sync({ lists: ['conversations'] });
  expect((await dueAfter(mirror, 20)).toSorted()).toEqual([mirror.short, mirror.long].toSorted());
});

test('the agenda says what the lists that were not read since their slot will still cost', async () => {
  const mirror = await halfRead(3);
  const [open] = await mirror.database.query<{ pages: number }>(
    `SELECT pages FROM sweeps WHERE state = 'paused'`,
  );
  expect(open!.pages).toBeGreaterThan(0);
  expect((await agendaAfter(mirror, 1)).behind).toBe(10 - open!.pages);
  await mirror.sync({ lists: ['conversations'] });
  expect((await agendaAfter(mirror, 1)).behind).toBe(0);
});

test('a walk that failed keeps the other lists from being walked again only after its rest', async () => {
  const mirror = await halfRead(3, { status: 404 });
  expect(await dueAfter(mirror, 20), 'it rests for 48 minutes').toEqual([mirror.short]);
  expect(await dueAfter(mirror, 1, { perDay: 4800 }), 'it rests for 15').toEqual([mirror.long]);
});

test('a list that waits for its next try after a failure does not keep the others from being walked again', async () => {
  const mirror = await halfRead(9);
  mirror.clock.advance(HOUR);
  await markDue(mirror.writer.schedules, CRONS, mirror.clock.now());
  mirror.sandbox.script(({ path }) =>
    path.includes(`${mirror.long}/conversations?`) || path.includes('/tags?') ? { status: 400 } : undefined,
  );
  await mirror.sync();
  expect(await dueAfter(mirror, 16)).toContain(mirror.short);
});

test("a walk that has cost a day's requests does not keep the other lists from being walked again", async () => {
  const mirror = await halfRead(5);
  expect(await dueAfter(mirror, 20, { perDay: 8 })).toEqual([mirror.long]);
  expect(await dueAfter(mirror, 1, { perDay: 4 })).toContain(mirror.short);
});

test('a list with which the service asked to wait does not keep the other lists from being walked again', async () => {
  const mirror = await halfRead(3);
  const later = new Date(mirror.clock.now() + HOUR).toISOString();
  await mirror.database.execute(`UPDATE sweeps SET retry_at = '${later}' WHERE state = 'paused'`);
  expect(await dueAfter(mirror, 20)).toContain(mirror.short);
});

test('a walk that saves requests, because its tokens were refused, does not keep the others from being walked again', async () => {
  const mirror = await halfRead(3);
  await mirror.database.execute(`UPDATE sweeps SET restarts = 2 WHERE state = 'paused'`);
  expect(await dueAfter(mirror, 20)).toContain(mirror.short);
});

test('a walk that is too long to save keeps the others from being walked again', async () => {
  const mirror = await halfRead(3);
  await mirror.database.execute(`UPDATE sweeps SET restarts = 2 WHERE state = 'paused'`);
  expect(await dueAfter(mirror, 20, { perDay: 24 })).toEqual([mirror.long]);
});

test('a list that the daemon lets rest does not keep the others from being walked again', async () => {
  const mirror = await halfRead(3);
  expect(await dueAfter(mirror, 20, { resting: mirror.long })).toContain(mirror.short);
});

test('while the schedule needs most requests for single pages, lists are walked at their slots alone', async () => {
  const mirror = await halfRead(3);
  await mirror.sync({ lists: ['conversations'] });
  expect(await dueAfter(mirror, 20, { pagesNeedMost: true })).toEqual([]);
  expect((await dueAfter(mirror, 60, { pagesNeedMost: true })).toSorted()).toEqual(
    [mirror.short, mirror.long].toSorted(),
  );
});
