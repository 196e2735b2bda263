import type { UnassignedRow } from '../../query/figures/backlog.ts';
import { allUnassigned } from '../../query/figures/whole.ts';
import type { FirstCopy } from '../../query/reads/ages.ts';
import { emptyOf, noteOf } from '../frame/first-copy.ts';
import { html, type Html } from '../frame/html.ts';
import { statusWord } from '../frame/items.ts';
import { cutNote, section, table } from '../frame/layout.ts';
import { conversationPath, inboxPath, permalink } from '../frame/links.ts';
import { ago, type Moment, named } from '../frame/words.ts';

interface Waiting {
  /** How many conversations wait. */
  readonly inAll: number;
  /** Null: of all inboxes. */
  readonly inboxId: string | null;
  readonly moment: Moment;
  readonly copy: FirstCopy | null;
}

/** The conversations that wait longest, each with its link to the service. */
export function unassignedSection(
  unassigned: readonly UnassignedRow[],
  { inAll, inboxId, moment, copy }: Waiting,
): Html {
  const rows = unassigned.map((row) => [
    html`${ago(row.since, moment)}${Boolean(row.is_lower_bound) && ' or earlier'}`,
    html`<a href="${inboxPath(row.inbox_id)}">${named(row.inbox, row.inbox_id)}</a>`,
    statusWord(row.status),
    html`<a href="${conversationPath(row.inbox_id, row.conversation_id)}">${row.conversation_id}</a>`,
    permalink(row.permalink),
  ]);
  const columns = [
    { name: 'Unassigned' },
    { name: 'Inbox' },
    { name: 'Status' },
    { name: 'Conversation' },
    { name: 'Link' },
  ];
  const empty = emptyOf(copy, 'No conversation waits for an assignee. Well done.');
  const note = noteOf(copy, cutNote(unassigned.length, inAll, allUnassigned(inboxId)));
  const body = table('Conversations that wait longest', columns, rows, empty);
  return section('Waiting longest for an assignee', body, { wide: true, note });
}
