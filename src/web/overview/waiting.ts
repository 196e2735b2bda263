import type { Waiting } from '../../query/figures/backlog.ts';
import { html, type Html } from '../frame/html.ts';
import { statusWord } from '../frame/items.ts';
import { table } from '../frame/layout.ts';
import { conversationPath, inboxPath, permalink } from '../frame/links.ts';
import { ago, type Moment, named } from '../frame/words.ts';

/** The conversations that wait longest, each with its link to the service. */
export function waitingTable(waiting: readonly Waiting[], moment: Moment): Html {
  const rows = waiting.map((row) => [
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
  return table(
    'Conversations that wait longest',
    columns,
    rows,
    'No conversation waits for an assignee. Well done.',
  );
}
