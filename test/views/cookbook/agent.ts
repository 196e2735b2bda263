import { HOUR } from '../../../src/core/clock.ts';
import { by, type Conversation, type History, isOpen, type Row } from './history.ts';

/** Since when a conversation has been open without a break. */
function openSince({ statuses }: Conversation): number {
  return statuses[statuses.findLastIndex(({ value }) => value === 'closed') + 1]!.from;
}

function hours(from: number, { now }: History): number {
  return Math.floor((now - from) / HOUR);
}

/** The answers to the questions of an agent, without SQL. */
export const AGENT: Readonly<Record<string, (history: History) => Row[]>> = {
  'What is on my list, the oldest first?': (history) =>
    history.all
      .filter((one) => isOpen(one) && one.assigneeId === '310045')
      .map((one): Row => [
        one.id,
        one.inbox,
        one.status,
        hours(openSince(one), history),
        hours(one.lastChanged, history),
      ])
      .sort(by(-4, 1))
      .slice(0, 5),

  'Which unassigned conversations wait longest?': (history) =>
    history.all
      .filter((one) => isOpen(one) && one.assigneeId === null)
      .map((one) => ({ one, since: Math.max(openSince(one), one.assignees.at(-1)!.from) }))
      .map(({ one, since }): Row => {
        const isLowerBound = one.isOld && since === one.firstSeen;
        return [one.id, one.status, hours(since, history), Number(isLowerBound)];
      })
      .sort(by(-3, 1))
      .slice(0, 5),

  'Which open conversations stand still?': (history) =>
    history.all
      .filter(isOpen)
      .map((one): Row => [
        one.id,
        one.inbox,
        one.status,
        history.nameOf(one.assigneeId),
        hours(one.lastChanged, history),
      ])
      .sort(by(-5, 1))
      .slice(0, 5),

  'Which open conversations carry a tag?': ({ all, tags }) =>
    all
      .filter(({ status, inboxId, tags: carried }) => {
        const urgent = tags.find(({ inbox_id: inbox, name }) => inbox === inboxId && name === 'Urgent')!.id;
        return status === 'open' && carried.includes(urgent);
      })
      .map(({ id, status, inbox }): Row => [id, status, inbox])
      .sort(by(3, 1))
      .slice(0, 5),

  'Which conversations are reopened most often?': ({ all }) =>
    all
      .map(({ id, statuses }): Row => {
        const closes = statuses.slice(1).filter(({ value }) => value === 'closed');
        const reopens = statuses.slice(0, -1).filter(({ value }) => value === 'closed');
        return [id, closes.length, reopens.length];
      })
      .filter(([, , reopens]) => reopens !== 0)
      .sort(by(-3, -2, 1))
      .slice(0, 5),

  'Which conversations are reassigned most often?': ({ all }) =>
    all
      .map(({ id, assignees }): Row => {
        const people = assignees.flatMap(({ value }) => value ?? []);
        return [id, moves(people), new Set(people).size];
      })
      .filter(([, moved]) => moved !== 0)
      .sort(by(-2, 1))
      .slice(0, 5),

  'What happened to one conversation?': ({ changes }) =>
    changes
      .filter(({ list, item_id: item }) => list === 'conversations' && item === '41000021')
      .toReversed()
      .slice(0, 6)
      .map((change): Row => [change.observed, change.field, change.old_value, change.new_value]),
};

/** How often the work moved to another teammate. */
function moves(people: readonly string[]): number {
  return people.filter((one, nth) => nth > 0 && one !== people[nth - 1]).length;
}
