import { duration, plural, thousands } from '../../core/humanize.ts';
import { failureWords } from '../../status/failures.ts';
import type { WholeStatus } from '../../status/observe.ts';
import { html, type Html } from '../frame/html.ts';
import { section, table } from '../frame/layout.ts';
import { inboxPath } from '../frame/links.ts';
import { ago, type Moment, named } from '../frame/words.ts';

/** More lists than this are folded away, except those that need a look. */
const MOST_OPEN = 40;

type JudgedList = WholeStatus['judged'][number];

/** Each list: its age, the age that its schedule allows, its size, and what is under way or wrong. */
export function listsSection({ judged }: WholeStatus, moment: Moment): Html {
  const needsLook = (list: JudgedList): boolean =>
    list.freshness !== 'fresh' || list.failure !== null || list.held > 0 || list.sweep !== null;
  const ordered = judged.toSorted((a, b) => Number(needsLook(b)) - Number(needsLook(a)));
  if (judged.length <= MOST_OPEN) return section('Lists', listTable(ordered, moment), { wide: true });
  const looked = ordered.filter(needsLook);
  return section(
    'Lists',
    html`${listTable(looked, moment)}
      <details>
        <summary>The other ${judged.length - looked.length} lists</summary>
        ${listTable(ordered.slice(looked.length), moment)}
      </details>`,
    { wide: true },
  );
}

function listTable(lists: readonly JudgedList[], moment: Moment): Html {
  const rows = lists.map((list) => [
    list.inboxId === null
      ? 'all'
      : html`<a href="${inboxPath(list.inboxId)}">${named(list.inbox, list.inboxId)}</a>`,
    list.list,
    html`<span ${list.freshness !== 'fresh' && html`class="late"`}>${ago(list.completeAsOf, moment)}</span>`,
    duration(list.promiseMs),
    list.rows === null ? '' : thousands(list.rows),
    list.pages === null ? '' : thousands(list.pages),
    stateOf(list, moment),
  ]);
  const columns = [
    { name: 'Inbox' },
    { name: 'List' },
    { name: 'Complete as of' },
    { name: 'Allowed age' },
    { name: 'Rows', number: true },
    { name: 'Pages', number: true },
    { name: 'State' },
  ];
  return table('Lists', columns, rows, 'No list needs a look.');
}

function stateOf(list: JudgedList, { now }: Moment): Html {
  const { sweep, failure, held, suspects, rejected, authorised, freshness } = list;
  const words: (Html | string | false)[] = [
    freshness === 'stale' && html`<strong class="late">stale</strong>`,
    freshness === 'never' && 'not complete yet',
    authorised === false && html`<strong class="late">the service has lost access</strong>`,
    sweep !== null && progressOf(sweep),
    failure !== null && html`<strong class="late">failed: ${failure}</strong>`,
    failureWords(list, now) ?? false,
    held > 0 && `${plural(held, 'deletion')} held`,
    suspects > 0 && plural(suspects, 'suspect'),
    rejected > 0 && `${plural(rejected, 'row')} unreadable`,
  ];
  const shown = words.filter((word) => word !== false);
  return shown.length === 0
    ? html`fresh`
    : html`${shown.map((word, index) => html`${index > 0 && '; '}${word}`)}`;
}

function progressOf({ state, pages, items }: NonNullable<JudgedList['sweep']>): string {
  return `${state === 'paused' ? 'paused' : 'reading'}: ${plural(pages, 'page')}, ${plural(items, 'row')}`;
}
