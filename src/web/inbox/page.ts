import { readBacklogDays, readFlowDays, readWaiting } from '../../query/figures/backlog.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import { readInbox, type WholeInbox } from '../../query/figures/inbox.ts';
import { DAYS, historySections } from '../charts/history.ts';
import { peopleTable, tagTable } from '../charts/work.ts';
import { html, type Html } from '../frame/html.ts';
import { personName, statusWord } from '../frame/items.ts';
import { type PageContent, section, table } from '../frame/layout.ts';
import { conversationPath, permalink } from '../frame/links.ts';
import { stampOf } from '../frame/stamp.ts';
import { ago, dayBefore, type Moment } from '../frame/words.ts';
import { waitingTable } from '../overview/waiting.ts';
import type { Visit } from '../pages.ts';

const NO_PEOPLE = 'No person has an open or pending conversation here.';
const NO_TAGS = 'No conversation here carries a tag.';

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
        ${section('People', peopleTable('People', assignees, { empty: NO_PEOPLE }))}
        ${section('Tags', tagTable(tags, { empty: NO_TAGS }))}
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

function listTable(inboxId: string, conversations: WholeInbox['conversations'], moment: Moment): Html {
  const rows = conversations.map((row) => [
    html`<a href="${conversationPath(inboxId, row.id)}">${row.id}</a>`,
    statusWord(row.status),
    personName(row.assignee, row.assignee_id),
    ago(row.changed_at, moment),
    permalink(row.permalink),
  ]);
  const columns = ['Conversation', 'Status', 'Assignee', 'Changed', 'Link'].map((name) => ({
    name,
  }));
  return table('Conversations', columns, rows, 'Every conversation of this inbox is closed.');
}
