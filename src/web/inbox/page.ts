import {
  type InboxBacklog,
  readBacklog,
  readBacklogDays,
  readFlowDays,
  readUnassigned,
  type UnassignedRow,
} from '../../query/figures/backlog.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import { type MissingRows, readMissing } from '../../query/figures/missing.ts';
import { readInbox, type WholeInbox } from '../../query/figures/inbox.ts';
import { allNotClosed, allTags } from '../../query/figures/whole.ts';
import type { FirstCopy } from '../../query/reads/ages.ts';
import { DAYS, historySections } from '../charts/history.ts';
import { peopleTable, tagTable } from '../charts/work.ts';
import { copyNotice, copyOf, emptyOf, noteOf } from '../frame/first-copy.ts';
import { html, type Html } from '../frame/html.ts';
import { personName, statusWord } from '../frame/items.ts';
import { cutNote, type PageContent, section, table } from '../frame/layout.ts';
import { conversationPath, permalink } from '../frame/links.ts';
import { missingNotice, stampOf } from '../frame/stamp.ts';
import { ago, dayBefore, type Moment } from '../frame/words.ts';
import { unassignedSection } from '../overview/unassigned.ts';
import type { Visit } from '../pages.ts';

const NO_PEOPLE = 'No person has an open or pending conversation here.';
const NO_OPEN = 'Every conversation of this inbox is closed.';
const NO_TAGS = 'No conversation here carries a tag.';

/** `/inboxes/ID`: an inbox's backlog, its people, its tags, and its conversations that are not closed. */
export async function inboxPage({ desk, moment, params }: Visit): Promise<PageContent | null> {
  const { inbox: id = '' } = params;
  const { inbox, lists, missing, unassigned, backlog } = await desk.quick(`inbox ${id}`, async (read) => ({
    inbox: await readInbox(read, id),
    lists: await readFreshness(read),
    missing: await readMissing(read),
    unassigned: await readUnassigned(read, id),
    backlog: await readBacklog(read, id),
  }));
  if (inbox === null) return null;
  const copy = copyOf(lists, id);
  const since = dayBefore(moment, DAYS - 1);
  const history = await desk.history(`inbox ${id} ${since} ${copy === null}`, async (read) => ({
    backlog: await readBacklogDays(read, id, since),
    flow: await readFlowDays(read, id, since),
  }));
  const [work = null] = backlog;
  return {
    title: inbox.now.name ?? `Inbox ${id}`,
    active: '/',
    trail: [{ href: '/', name: 'Overview' }],
    stamp: stampOf(lists, moment, id),
    refresh: history === null ? 1 : undefined,
    body: html`${notices(inbox, moment)}${copyNotice(copy)}${missingNotice(missingOf(missing, inbox.now))}
      <div class="columns">${historySections(history, work, moment, copy)}</div>
      ${work !== null && workSections(inbox, { work, unassigned, moment, copy })}`,
  };
}

/** The missing rows of an inbox: the inbox itself, or rows of its lists. */
function missingOf(missing: readonly MissingRows[], now: WholeInbox['now']): MissingRows[] {
  return missing.flatMap((rows) => {
    if (rows.list === 'inboxes') return now.missing_since === null ? [] : [{ ...rows, rows: 1 }];
    return rows.inbox_id === now.id ? [rows] : [];
  });
}

interface Work {
  readonly work: InboxBacklog;
  readonly unassigned: readonly UnassignedRow[];
  readonly moment: Moment;
  readonly copy: FirstCopy | null;
}

/** The work of now. An inbox that is gone has none. */
function workSections(inbox: WholeInbox, { work, unassigned, moment, copy }: Work): Html {
  const { now, assignees, tags, conversations } = inbox;
  const people = peopleTable('People', assignees, { empty: emptyOf(copy, NO_PEOPLE) });
  const ofTags = tagTable(tags, { empty: emptyOf(copy, NO_TAGS) });
  const tagNote = noteOf(copy, cutNote(tags.length, tags[0]?.in_all ?? 0, allTags(now.id)));
  const open = listTable(inbox, moment, emptyOf(copy, NO_OPEN));
  const notClosed = work.open + work.pending + work.other;
  const openNote = noteOf(copy, cutNote(conversations.length, notClosed, allNotClosed(now.id)));
  return html`<div class="columns">
      ${section('People', people, { note: noteOf(copy) })}${section('Tags', ofTags, { note: tagNote })}
    </div>
    ${unassignedSection(unassigned, { inAll: work.unassigned, inboxId: now.id, moment, copy })}
    ${section('Not closed, newest change first', open, { wide: true, note: openNote })}`;
}

function notices({ now }: WholeInbox, moment: Moment): Html {
  const deleted =
    now.deleted_at !== null &&
    html`<p class="verdict late">
      The service no longer has this inbox: it was gone ${ago(now.deleted_at, moment)}. Its conversations went
      with it.
    </p>`;
  const lost =
    now.deleted_at === null &&
    now.is_authorised !== null &&
    !now.is_authorised &&
    html`<p class="verdict late">
      The service has lost access to this mailbox, so nothing new arrives. Authorise it there again.
    </p>`;
  const address = now.email !== null && html`<bdi>${now.email}</bdi> · `;
  return html`<p class="note">${address}id ${now.id}</p>
    ${deleted}${lost}`;
}

function listTable({ now, conversations }: WholeInbox, moment: Moment, empty: string): Html {
  const rows = conversations.map((row) => [
    html`<a href="${conversationPath(now.id, row.id)}">${row.id}</a>`,
    statusWord(row.status),
    personName(row.assignee, row.assignee_id),
    html`${ago(row.changed_at, moment)}${Boolean(row.is_lower_bound) && ' or earlier'}`,
    permalink(row.permalink),
  ]);
  const columns = ['Conversation', 'Status', 'Assignee', 'Changed', 'Link'].map((name) => ({
    name,
  }));
  return table('Conversations', columns, rows, empty);
}
