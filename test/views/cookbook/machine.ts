import { DAY, MINUTE } from '../../../src/core/clock.ts';
import { LIST_NAMES } from '../../../src/core/lists.ts';
import { by, count, type History, type Row, valueAt } from './history.ts';

/** The answers to the questions of an operator, without SQL. */
export const OPERATOR: Readonly<Record<string, (history: History) => Row[]>> = {
  'How current are the figures?': ({ sweeps, now }) =>
    LIST_NAMES.map((list): Row => {
      const own = Map.groupBy(
        sweeps.filter((sweep) => sweep.list === list && sweep.state === 'complete'),
        ({ inbox_id: inbox }) => inbox,
      );
      const ages = [...own.values()].map((of) => now - Math.max(...of.map(({ finished }) => finished)));
      return [list, ages.length, Math.floor(Math.max(...ages) / MINUTE), 0];
    }).sort(by(1)),

  'Which requests were sent in the last day?': ({ requests, now }) =>
    [
      ...Map.groupBy(
        requests.filter(({ sent }) => sent >= now - DAY),
        ({ list, reason }) => `${list} ${reason}`,
      ),
    ]
      .map(([kind, of]): Row => {
        const notOk = count(of, ({ status }) => status === null || status < 200 || status > 299);
        return [...kind.split(' '), of.length, notOk, of.reduce((sum, { items }) => sum + (items ?? 0), 0)];
      })
      .sort(by(-3, 1)),

  'How long was a list unread at most?': ({ sweeps, inboxes }) =>
    [
      ...Map.groupBy(
        sweeps.filter(
          ({ list, state }) => state === 'complete' && ['inboxes', 'conversations'].includes(list),
        ),
        ({ list, inbox_id: inbox }) => `${list} ${inbox}`,
      ),
    ]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, of]): Row => {
        const [list = '', inbox] = key.split(' ');
        const gaps = of.slice(1).map(({ finished }, nth) => finished - of[nth]!.finished);
        const name = inboxes.find(({ id }) => id === inbox)?.display_name ?? null;
        return [list, name, of.length, Math.round(Math.max(...gaps) / MINUTE)];
      }),

  'Which mailboxes has the service lost access to?': ({ inboxes, changes }) =>
    inboxes
      .filter(({ is_authorised: isAuthorised }) => !isAuthorised)
      .map(({ id, display_name: name }): Row => {
        const lost = changes.findLast(
          (change) => change.list === 'inboxes' && change.item_id === id && change.field === 'is_authorised',
        );
        return [id, name, lost?.observed ?? null];
      }),
};

/** The answers to the questions of an engineer, without SQL. */
export const ENGINEER: Readonly<Record<string, (history: History) => Row[]>> = {
  'What changed in the last 24 hours?': ({ changes, now }) =>
    [
      ...Map.groupBy(
        changes.filter(({ observed }) => observed >= now - DAY),
        ({ list, field }) => `${list} ${field}`,
      ),
    ]
      .map(([kind, of]): Row => [...kind.split(' '), of.length])
      .sort(by(-3, 1, 2)),

  'What has changed since my last run?': ({ all }) =>
    all
      .filter(({ lastChanged }) => lastChanged >= Date.parse('2026-03-06T12:00:00Z'))
      .map(({ inboxId, id, status, assigneeId }): Row => [inboxId, id, status, assigneeId])
      .sort(by(1, 2))
      .slice(0, 5),

  'In which state was a conversation at each change?': ({ all, changes }) => {
    const { id, statuses, assignees } = all.find((one) => one.id === '41000047')!;
    return changes
      .filter((change) => change.list === 'conversations' && change.item_id === id)
      .map(({ observed, field, new_value: value }): Row => [
        observed,
        field,
        value,
        valueAt(statuses, observed) ?? null,
        valueAt(assignees, observed) ?? null,
      ]);
  },

  'Does the history agree with the present?': ({ all }) => [
    [all.length, 0, count(all, ({ assignees, assigneeId }) => assignees.at(-1)!.value !== assigneeId)],
  ],
};
