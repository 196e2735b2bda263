import { thousands } from '../../core/humanize.ts';
import type { AssigneeWork, TagWork } from '../../query/figures/inbox.ts';
import type { Html } from '../frame/html.ts';
import { personName, tagChip } from '../frame/items.ts';
import { type Column, table } from '../frame/layout.ts';
import { shareBar } from './share.ts';

/** A further column of a table of work. */
interface Further<Row> extends Column {
  readonly cell: (row: Row) => Html | number;
}

interface Backlog {
  readonly open: number;
  readonly pending: number;
}

/** Bars of what is open and pending, each as a part of the longest. */
export function backlogBars(rows: readonly Backlog[]): (row: Backlog) => Html {
  const most = Math.max(0, ...rows.map(({ open, pending }) => open + pending));
  return ({ open, pending }) =>
    shareBar(
      [
        { value: open, colour: 'open' },
        { value: pending, colour: 'pending' },
      ],
      most,
    );
}

/** A table of assignees and their work. */
export function peopleTable<Row extends AssigneeWork>(
  caption: string,
  people: readonly Row[],
  { empty, last }: { empty: string; last?: Further<Row> },
): Html {
  const bar = backlogBars(people);
  const rows = people.map((person) => [
    personName(person.assignee, person.assignee_id),
    bar(person),
    thousands(person.open),
    thousands(person.pending),
    ...(last === undefined ? [] : [last.cell(person)]),
  ]);
  const columns = [
    { name: 'Assignee' },
    { name: 'Work' },
    { name: 'Open', number: true },
    { name: 'Pending', number: true },
    ...(last === undefined ? [] : [last]),
  ];
  return table(caption, columns, rows, empty);
}

/** How many conversations carry each tag. */
export function tagTable<Row extends TagWork>(
  tags: readonly Row[],
  { empty, second }: { empty: string; second?: Further<Row> },
): Html {
  const most = Math.max(0, ...tags.map(({ not_closed: open }) => open));
  const rows = tags.map((tag) => [
    tagChip(tag),
    ...(second === undefined ? [] : [second.cell(tag)]),
    shareBar([{ value: tag.not_closed, colour: 'plain' }], most),
    thousands(tag.not_closed),
    thousands(tag.conversations),
  ]);
  const columns = [
    { name: 'Tag' },
    ...(second === undefined ? [] : [second]),
    { name: 'Not closed' },
    { name: 'Now', number: true },
    { name: 'In all', number: true },
  ];
  return table('Tags', columns, rows, empty);
}
