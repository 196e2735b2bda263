import { plural, thousands } from '../../core/humanize.ts';
import { failureCause, failureWords } from '../../status/failures.ts';
import { hasLongMissed } from '../../status/judge.ts';
import type { WholeStatus } from '../../status/observe.ts';
import { html, type Html } from '../frame/html.ts';
import { section, table } from '../frame/layout.ts';
import { inboxPath } from '../frame/links.ts';
import { ago, lengthOf, type Moment, named } from '../frame/words.ts';

/** More lists than this are folded away, except those that need a look or are being read. */
const MOST_OPEN = 40;

const NOTE = 'Rows and pages are those of the last reading of the whole list.';

type JudgedList = WholeStatus['judged'][number];

/** Each list: its age, the age that its schedule allows, its size, and what is under way or wrong. */
export function listsSection({ judged }: WholeStatus, moment: Moment): Html {
  const isOpen = (list: JudgedList): boolean => list.needsLook || isBegun(list);
  const ordered = judged.toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a)));
  if (judged.length <= MOST_OPEN)
    return section('Lists', listTable(ordered, moment), { wide: true, note: NOTE });
  const open = ordered.filter(isOpen);
  return section(
    'Lists',
    html`${listTable(open, moment)}
      <details>
        <summary>The other ${judged.length - open.length} lists</summary>
        ${listTable(ordered.slice(open.length), moment)}
      </details>`,
    { wide: true, note: NOTE },
  );
}

function listTable(lists: readonly JudgedList[], moment: Moment): Html {
  const rows = lists.map((list) => [
    list.inboxId === null
      ? 'all'
      : html`<a href="${inboxPath(list.inboxId)}">${named(list.inbox, list.inboxId)}</a>`,
    list.list,
    html`<span ${list.freshness !== 'fresh' && html`class="late"`}>${ago(list.completeAsOf, moment)}</span>`,
    lengthOf(list.promiseMs),
    list.rows === null ? '' : thousands(list.rows),
    list.pages === null ? '' : thousands(list.pages),
    stateOf(list, moment),
  ]);
  const columns = [
    { name: 'Inbox' },
    { name: 'List' },
    { name: 'Complete as of' },
    { name: 'Allowed age' },
    { name: 'Rows read', number: true },
    { name: 'Pages read', number: true },
    { name: 'State' },
  ];
  return table('Lists', columns, rows, 'No list needs a look.');
}

function stateOf(list: JudgedList, { now }: Moment): Html {
  const { failure, held, suspects, unlisted, rejected, withoutId, authorised, freshness } = list;
  const words: (Html | string | false)[] = [
    freshness === 'stale' && html`<strong class="late">stale</strong>`,
    freshness === 'never' && 'not complete yet',
    authorised === false && html`<strong class="late">the service has lost access</strong>`,
    freshness === 'fresh' && failure === null && 'fresh',
    isBegun(list) && progressOf(list.sweep),
    failure !== null && html`<strong class="late">failed: ${failureCause(failure)}</strong>`,
    failureWords(list, now) ?? false,
    held > 0 && `${plural(held, 'deletion')} held`,
    suspects > 0 && suspectWords(list, now),
    unlisted > 0 && `${plural(unlisted, 'row')} left out by the list`,
    rejected > 0 && `${plural(rejected, 'row')} unreadable`,
    withoutId > 0 && `deletions wait: ${plural(withoutId, 'row')} without a readable id`,
  ];
  const shown = words.filter((word) => word !== false);
  return html`${shown.map((word, index) => html`${index > 0 && '; '}${word}`)}`;
}

function suspectWords({ suspects, missingSince: since }: JudgedList, now: number): string {
  const words = plural(suspects, 'suspect');
  return hasLongMissed(since, now) ? `${words} for up to ${lengthOf(now - since.getTime())}` : words;
}

/** True while a sweep reads the list, or has stopped after some of its pages. */
function isBegun(list: JudgedList): list is JudgedList & { sweep: NonNullable<JudgedList['sweep']> } {
  return list.sweep !== null && (list.sweep.state === 'running' || list.sweep.pages > 0);
}

function progressOf({ state, pages, items }: NonNullable<JudgedList['sweep']>): string {
  const read = `${plural(pages, 'page')}, ${plural(items, 'row')}`;
  return state === 'paused' ? `stopped after ${read}; the next reading continues there` : `reading: ${read}`;
}
