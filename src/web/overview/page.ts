import { thousands } from '../../core/humanize.ts';
import {
  type InboxBacklog,
  readBacklog,
  readBacklogDays,
  readFlowDays,
  readUnassigned,
} from '../../query/figures/backlog.ts';
import { type ListFreshness, readFreshness } from '../../query/figures/freshness.ts';
import { readMissing } from '../../query/figures/missing.ts';
import type { JudgedStatus } from '../../status/judge.ts';
import { DAYS, historySections } from '../charts/history.ts';
import { backlogBars } from '../charts/work.ts';
import { type FirstCopy, progressOf } from '../../query/reads/ages.ts';
import { copyNotice, copyOf, noteOf } from '../frame/first-copy.ts';
import { html, type Html } from '../frame/html.ts';
import { type PageContent, section, table } from '../frame/layout.ts';
import { inboxPath } from '../frame/links.ts';
import { isLate, missingNotice, stampOf } from '../frame/stamp.ts';
import { ago, dayBefore, type Moment, named } from '../frame/words.ts';
import type { Visit } from '../pages.ts';
import { unassignedSection } from './unassigned.ts';

/** `/`: the backlog of all inboxes, now and over 90 days, and who waits longest. */
export async function overviewPage({ desk, status, moment }: Visit): Promise<PageContent> {
  const { lists, missing, backlog, unassigned } = await desk.quick('overview', async (read) => ({
    lists: await readFreshness(read),
    missing: await readMissing(read),
    backlog: await readBacklog(read),
    unassigned: await readUnassigned(read, null),
  }));
  const copy = copyOf(lists);
  const sum = sumOf(backlog);
  if (copy?.complete === 0) return firstCopyPage(await status(), copy);
  const since = dayBefore(moment, DAYS - 1);
  const history = await desk.history(`overview ${since} ${copy === null}`, async (read) => ({
    backlog: await readBacklogDays(read, null, since),
    flow: await readFlowDays(read, null, since),
  }));
  return {
    title: 'Overview',
    active: '/',
    stamp: stampOf(lists, moment),
    refresh: history === null ? 1 : undefined,
    body: html`${copyNotice(copy)}${missingNotice(missing)}${totals(sum)}
      <div class="columns">${historySections(history, sum, moment, copy)}</div>
      ${section('Inboxes', inboxTable(backlog, lists, moment), { wide: true, note: noteOf(copy) })}
      ${unassignedSection(unassigned, { inAll: sum.unassigned, inboxId: null, moment, copy })}`,
  };
}

type Totals = Pick<InboxBacklog, 'open' | 'pending' | 'unassigned' | 'closed'>;

/** The backlog of all inboxes together. */
function sumOf(backlog: readonly InboxBacklog[]): Totals {
  const sum = (key: keyof Totals): number => backlog.reduce((total, row) => total + row[key], 0);
  return { open: sum('open'), pending: sum('pending'), unassigned: sum('unassigned'), closed: sum('closed') };
}

function totals({ open, pending, unassigned, closed }: Totals): Html {
  const figures = [
    ['open', 'Open', thousands(open)],
    ['pending', 'Pending', thousands(pending)],
    ['unassigned', 'Unassigned', thousands(unassigned)],
    ['closed', 'Closed', thousands(closed)],
  ] as const;
  return html`<dl class="totals">
    ${figures.map(
      ([key, name, value]) =>
        html`<div class="total total-${key}">
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

function inboxTable(backlog: readonly InboxBacklog[], lists: readonly ListFreshness[], moment: Moment): Html {
  const byInbox = new Map(
    lists.filter(({ list }) => list === 'conversations').map((list) => [list.inbox_id, list]),
  );
  const bar = backlogBars(backlog);
  const rows = backlog.map((row) => {
    const list = byInbox.get(row.inbox_id);
    return [
      html`<a href="${inboxPath(row.inbox_id)}">${named(row.inbox, row.inbox_id)}</a>`,
      bar(row),
      thousands(row.open),
      thousands(row.pending),
      thousands(row.unassigned),
      html`<span ${isLate(list) && html`class="late"`}>${ago(list?.complete_as_of ?? null, moment)}</span>`,
    ];
  });
  const columns = [
    { name: 'Inbox' },
    { name: 'Backlog' },
    { name: 'Open', number: true },
    { name: 'Pending', number: true },
    { name: 'Unassigned', number: true },
    { name: 'As of' },
  ];
  return table('Inboxes', columns, rows, 'This account has no inbox.');
}

function firstCopyPage({ daemonRuns, daemonIsSilent }: JudgedStatus, copy: FirstCopy): PageContent {
  const sentence = daemonRuns
    ? 'The daemon makes the first copy. Figures appear here inbox by inbox; ' +
      'this page looks again by itself.'
    : daemonIsSilent
      ? 'The daemon has ended or cannot write, so the first copy does not grow.'
      : html`This mirror is empty, and no daemon fills it. Start one with <code>inbox-mirror start</code>.`;
  return {
    title: 'Overview',
    active: '/',
    refresh: 5,
    body: html`<section class="card wide">
      <h2>The first copy</h2>
      <p>${sentence}</p>
      <p>So far: ${progressOf(copy)}.</p>
      <p><a href="/engine">The engine room</a> shows its progress.</p>
    </section>`,
  };
}
