import { expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import { readExamples } from '../../src/query/figures/examples.ts';
import { firstIds, firstInbox } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';
import { ask, officeHours } from './support.ts';

const FINAL = { final: ['close', 'closed', 'resolved'], waiting: ['on hold'] };
const NONE_CLOSED = { final: ['done'], waiting: ['close', 'closed'] };

/** Two conversations, one of them resolved after a night: from Monday 08:00 to Tuesday 09:00 UTC. */
async function overNight() {
  const mirror = await quickMirror({ sandbox: { conversations: [2], usersPerInbox: 1, tagsPerInbox: 1 } });
  const inbox = firstInbox(mirror.sandbox);
  const [resolved = '', held = ''] = firstIds(inbox.conversations, 2);
  for (const row of inbox.conversations.values()) Object.assign(row, { status: 'open', assignee: null });
  await mirror.sync();
  mirror.clock.advance(25 * HOUR - (mirror.clock.now() % HOUR));
  mirror.sandbox.world.setStatus(inbox.id, resolved, 'Resolved');
  mirror.sandbox.world.setStatus(inbox.id, held, 'On Hold');
  await mirror.sync();
  return { mirror, resolved };
}

test('statuses count as closed and pending by the settings, in any letter case, and keep their names', async () => {
  const { mirror, resolved } = await overNight();
  const now = async (statuses: typeof FINAL): Promise<unknown> =>
    await ask(mirror, `SELECT open, pending, closed, other FROM backlog_now`, { statuses });
  expect(await now({ final: ['closed'], waiting: ['pending'] })).toEqual([
    { open: 0, pending: 0, closed: 0, other: 2 },
  ]);
  expect(await now(FINAL)).toEqual([{ open: 0, pending: 1, closed: 1, other: 0 }]);
  const facts = `SELECT status, closes FROM conversation_facts WHERE conversation_id = '${resolved}'`;
  expect(await ask(mirror, facts, { statuses: FINAL })).toEqual([{ status: 'Resolved', closes: 1 }]);
  expect(await ask(mirror, facts, { statuses: NONE_CLOSED })).toEqual([{ status: 'Resolved', closes: 0 }]);
});

test('the backlog of each day, in the views and in the example of the page, counts by the settings', async () => {
  const { mirror } = await overNight();
  const examples = readExamples(mirror.clock.now()).flatMap((group) => group.examples);
  const example = examples.find(({ question }) => question === 'How has the backlog developed?')?.sql ?? '';
  expect(await ask(mirror, example, { statuses: FINAL })).toEqual([
    { day: '2026-03-02', open: 2, pending: 0 },
    { day: '2026-03-03', open: 0, pending: 1 },
  ]);
  const meanings = async (view: string): Promise<unknown> =>
    await ask(mirror, `SELECT DISTINCT status, meaning FROM ${view} ORDER BY status`, { statuses: FINAL });
  const all = [
    { status: 'On Hold', meaning: 'waiting' },
    { status: 'Resolved', meaning: 'final' },
  ];
  const open = { status: 'open', meaning: 'open' };
  expect(await meanings('conversation_facts')).toEqual(all);
  expect(await meanings('backlog_daily')).toEqual([...all, open]);
  expect(await meanings('time_in_status')).toEqual([...all, open]);
});

test('a conversation with a word for closed is open work if FINAL_STATUSES leaves that word out', async () => {
  const { mirror, resolved } = await overNight();
  const inbox = firstInbox(mirror.sandbox);
  mirror.sandbox.world.setStatus(inbox.id, resolved, 'close');
  await mirror.sync();
  const open = async (statuses: typeof FINAL): Promise<unknown> =>
    (await ask(mirror, `SELECT conversation_id FROM oldest_open`, { statuses })).length;
  expect([await open(FINAL), await open(NONE_CLOSED)]).toEqual([1, 2]);
  expect(await ask(mirror, `SELECT closed, pending FROM backlog_now`, { statuses: NONE_CLOSED })).toEqual([
    { closed: 0, pending: 1 },
  ]);
});

test('times in office hours leave out the night, follow a changed setting, and are null without one', async () => {
  const { mirror, resolved } = await overNight();
  const facts = `SELECT open_seconds / 3600 AS clock, (open_office_seconds + 60) / 1800 AS office
    FROM conversation_facts
    WHERE conversation_id = '${resolved}'`;
  // In UTC 7.5 hours of Monday. In Tokyo it is 17:00 on Monday to 18:00 on Tuesday: 8 hours.
  const of = async (timezone: string | null): Promise<unknown> =>
    await ask(mirror, facts, { officeHours: timezone === null ? null : officeHours(timezone) });
  expect(await of('UTC')).toEqual([{ clock: 25, office: 15 }]);
  expect(await of('Asia/Tokyo')).toEqual([{ clock: 25, office: 16 }]);
  expect(await of(null)).toEqual([{ clock: 25, office: null }]);
});
