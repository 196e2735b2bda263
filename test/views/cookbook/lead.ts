import { MINUTE } from '../../../src/core/clock.ts';
import {
  by,
  type Conversation,
  count,
  daysOf,
  type History,
  isOpen,
  lengthOf,
  type Row,
  valueAt,
} from './history.ts';

/** The answers to the questions of a team lead, without SQL. */
export const LEAD: Readonly<Record<string, (history: History) => Row[]>> = {
  'How much is open in each inbox?': ({ inboxes, all }) =>
    inboxes
      .map(({ id, display_name: name }): Row => {
        const own = all.filter(({ inboxId }) => inboxId === id);
        const having = (status: string): number => count(own, (one) => one.status === status);
        const [open, pending, closed] = [having('open'), having('pending'), having('closed')];
        const unassigned = count(own, (one) => isOpen(one) && one.assigneeId === null);
        return [name, open, pending, closed, own.length - open - pending - closed, unassigned];
      })
      .sort(by(-2)),

  'Which assignees have the most work?': ({ all, nameOf }) =>
    [...Map.groupBy(all.filter(isOpen), ({ assigneeId }) => assigneeId)]
      .filter(([id]) => id !== null)
      .map(([id, of]): Row => [
        nameOf(id),
        count(of, ({ status }) => status === 'open'),
        count(of, ({ status }) => status === 'pending'),
      ])
      .sort(by(-2, -3, 1))
      .slice(0, 5),

  'Which tags cause the most open work?': ({ tags, all, inboxes }) =>
    tags
      .map((tag): Row => {
        const own = all.filter((one) => one.inboxId === tag.inbox_id && one.tags.includes(tag.id));
        const inbox = inboxes.find(({ id }) => id === tag.inbox_id)!.display_name;
        return [inbox, tag.name, own.length, count(own, isOpen)];
      })
      .sort(by(-4, -3, 2))
      .slice(0, 5),

  'How has the backlog developed?': (history) =>
    daysOf(history).map(({ day, to }) => {
      const having = (status: string): number =>
        count(history.all, ({ statuses }) => valueAt(statuses, to - 1) === status);
      return [day, having('open'), having('pending')];
    }),

  'How did the backlog look on Wednesday at noon?': ({ all }) => {
    const noon = Date.parse('2026-03-04T12:00:00Z');
    const then = all.flatMap(({ statuses }) => valueAt(statuses, noon) ?? []);
    return [...Map.groupBy(then, (status) => status)]
      .map(([status, of]): Row => [status, of.length])
      .sort(by(-2, 1));
  },

  'Do we close as much as comes in?': (history) =>
    daysOf(history).map(({ day, from, to }) => {
      const first = Math.min(...history.all.map(({ firstSeen }) => firstSeen));
      // The first day begins with what the first sweep found; its last row was written some seconds later.
      const start = Math.max(from, first + MINUTE);
      const open = (at: number): number =>
        count(
          history.all,
          ({ statuses }) => ![undefined, 'closed'].includes(valueAt(statuses, at) ?? undefined),
        );
      const [more, less] = turnsBetween(history.all, start, to);
      return [day, open(start - 1), more, less, open(to - 1)];
    }),

  'How long until a new conversation is assigned?': ({ all }) => {
    const waits = all
      .filter(({ isOld, assignees }) => !isOld && assignees.some(({ value }) => value !== null))
      .map(({ assignees }) => {
        const before = assignees.slice(
          0,
          assignees.findIndex(({ value }) => value !== null),
        );
        return Math.floor(before.reduce((sum, stay) => sum + lengthOf(stay, Number.NaN), 0) / 1000);
      });
    return [[waits.length, Math.round(mean(waits) / 60), Math.round(Math.max(...waits) / 60)]];
  },

  'How long does it take to close a conversation?': ({ all, now }) => {
    const closed = all.filter(
      ({ isOld, status, statuses }) =>
        !isOld && status === 'closed' && statuses.some(({ value }, nth) => nth > 0 && value === 'closed'),
    );
    const seconds = (is: (status: string | null) => boolean): number[] =>
      closed.map(({ statuses }) => {
        const of = statuses.filter(({ value }) => is(value));
        return Math.floor(of.reduce((sum, stay) => sum + lengthOf(stay, now), 0) / 1000);
      });
    const hours = (of: number[]): number => Math.round(mean(of) / 360) / 10;
    return [
      [closed.length, hours(seconds((one) => one !== 'closed')), hours(seconds((one) => one === 'open'))],
    ];
  },

  'How long do conversations stay pending?': ({ all, now }) => {
    const waits = all.flatMap(({ isOld, statuses }) => {
      const pending = statuses.filter(({ value }) => value === 'pending');
      if (pending.length === 0 || (isOld && pending[0] === statuses[0])) return [];
      return [Math.floor(pending.reduce((sum, stay) => sum + lengthOf(stay, now), 0) / 1000)];
    });
    return [[waits.length, Math.round(mean(waits) / 360) / 10, Math.round(Math.max(...waits) / 360) / 10]];
  },

  'Which assignees closed the most conversations?': ({ all, nameOf }) => {
    const closers = all.flatMap(({ id, statuses, assignees }) => {
      const last = statuses.findLast(({ value }, nth) => nth > 0 && value === 'closed');
      return last === undefined ? [] : [{ id, by: valueAt(assignees, last.from) ?? null }];
    });
    return [...Map.groupBy(closers, (one) => one.by)]
      .map(([closer, of]): Row => [
        closer === null ? 'nobody' : nameOf(closer),
        new Set(of.map(({ id }) => id)).size,
      ])
      .sort(by(-2, 1))
      .slice(0, 5);
  },

  'Between which teammates does work move?': ({ all, nameOf }) => {
    const moves = all.flatMap(({ assignees }) => {
      const people = assignees.flatMap(({ value }) => value ?? []);
      return people.slice(1).flatMap((to, nth) => (people[nth] === to ? [] : [`${people[nth]} ${to}`]));
    });
    return [...Map.groupBy(moves, (pair) => pair)]
      .map(([pair, of]): Row => [...pair.split(' ').map(nameOf), of.length])
      .sort(by(-3, 1, 2))
      .slice(0, 5);
  },
};

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

/** How often a conversation became open, and how often one ceased to be. */
function turnsBetween(all: readonly Conversation[], from: number, to: number): [more: number, less: number] {
  const turns = all.flatMap(({ isOld, statuses }) =>
    statuses.flatMap((stay, nth) => {
      if (stay.from < from || stay.from >= to || (nth === 0 && isOld)) return [];
      const before = nth === 0 ? 'closed' : statuses[nth - 1]!.value;
      if ((before === 'closed') === (stay.value === 'closed')) return [];
      return [stay.value === 'closed' ? 'less' : 'more'];
    }),
  );
  return [count(turns, (turn) => turn === 'more'), count(turns, (turn) => turn === 'less')];
}
