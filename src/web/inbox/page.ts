import { thousands } from '../../core/humanize.ts';
import { readBacklogDays, readFlowDays, readWaiting } from '../../query/figures/backlog.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import { readInbox, type WholeInbox } from '../../query/figures/inbox.ts';
import { shareBar } from '../charts/share.ts';
import { DAYS, historySections } from '../charts/history.ts';
import { html, type Html } from '../frame/html.ts';
import { personName, statusWord, tagChip } from '../frame/items.ts';
import { type PageContent, section, table } from '../frame/layout.ts';
import { conversationPath, permalink } from '../frame/links.ts';
import { stampOf } from '../frame/stamp.ts';
import { ago, dayBefore, type Moment } from '../frame/words.ts';
import { waitingTable } from '../overview/waiting.ts';
import type { Visit } from '../pages.ts';

/** `/inboxes/ID`: an inbox's backlog, its people, its tags, and its conversations that are not closed. */
export async function inboxPage({ desk, moment, params }: Visit): Promise<PageContent | null> {
  const { inbox: id = '' } = params;
  const { inbox, lists, waiting } = await desk.quick(`inbox ${id}`, async (read) => ({
    inbox: await readInbox(read, id),
    lists: await readFreshness(read),
    waiting: await readWaiting(read, id),
  }));
  if (inbox === null) return null;
  const since = dayBefore(moment, DAYS - 1);
  const history = await desk.history(`inbox ${id} ${since}`, async (read) => ({
    backlog: await readBacklogDays(read, id, since),
    flow: await readFlowDays(read, id, since),
  }));
  const { now, assignees, tags, conversations } = inbox;
  return {
    title: now.name ?? `Inbox ${id}`,
    active: '/',
    trail: [{ href: '/', name: 'Overview' }],
    stamp: stampOf(lists, moment, id),
    refresh: history === null ? 1 : undefined,
    body: html`${notices(inbox, moment)}
      <div class="columns">${historySections(history, moment)}</div>
      <div class="columns">
        ${section('People', peopleTable(assignees))} ${section('Tags', tagTable(tags))}
      </div>
      ${section('Waiting longest for an assignee', waitingTable(waiting, moment), { wide: true })}
      ${section('Not closed, newest change first', listTable(id, conversations, moment), { wide: true })}`,
  };
}

function notices({ now }: WholeInbox, moment: Moment): Html {
  const deleted =
    now.deleted_at !== null &&
    html`<p class="verdict late">
      The service no longer has this inbox: it was gone ${ago(now.deleted_at, moment)}.
    </p>`;
  const lost =
    now.is_authorised !== null &&
    !now.is_authorised &&
    html`<p class="verdict late">
      The service has lost access to this mailbox, so nothing new arrives. Authorise it there again.
    </p>`;
  const address = now.email !== null && html`<bdi>${now.email}</bdi> · `;
  return html`<p class="note">${address}id ${now.id}</p>
    ${deleted}${lost}`;
}

function peopleTable(assignees: WholeInbox['assignees']): Html {
  const most = Math.max(0, ...assignees.map(({ open, pending }) => open + pending));
  const rows = assignees.map(({ assignee, assignee_id: id, open, pending }) => [
    personName(assignee, id),
    shareBar(
      [
        { value: open, colour: 'open' },
        { value: pending, colour: 'pending' },
      ],
      most,
    ),
    thousands(open),
    thousands(pending),
  ]);
  const columns = [
    { name: 'Assignee' },
    { name: 'Work' },
    { name: 'Open', number: true },
    { name: 'Pending', number: true },
  ];
  return table('People', columns, rows, 'Nobody has an open or pending conversation here.');
}

function tagTable(tags: WholeInbox['tags']): Html {
  const most = Math.max(0, ...tags.map(({ not_closed: open }) => open));
  const rows = tags.map((tag) => [
    tagChip(tag),
    shareBar([{ value: tag.not_closed, colour: 'plain' }], most),
    thousands(tag.not_closed),
    thousands(tag.conversations),
  ]);
  const columns = [
    { name: 'Tag' },
    { name: 'Not closed' },
    { name: 'Now', number: true },
    { name: 'In all', number: true },
  ];
  return table('Tags', columns, rows, 'No conversation here carries a tag.');
}

function listTable(inboxId: string, conversations: WholeInbox['conversations'], moment: Moment): Html {
  const rows = conversations.map((row) => [
    html`<a href="${conversationPath(inboxId, row.id)}">${row.id}</a>`,
    statusWord(row.status),
    personName(row.assignee, row.assignee_id),
    ago(row.changed_at, moment),
    permalink(row.permalink),
  ]);
  const columns = ['Conversation', 'Status', 'Assignee', 'Changed', 'In the service'].map((name) => ({
    name,
  }));
  return table('Conversations', columns, rows, 'Every conversation of this inbox is closed.');
}
