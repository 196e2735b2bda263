import { SECOND } from '../../core/clock.ts';
import { thousands } from '../../core/humanize.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import { readMissing } from '../../query/figures/missing.ts';
import type { TagWork } from '../../query/figures/inbox.ts';
import {
  type PersonWork,
  readPeople,
  readStatusMeans,
  readTagDays,
  readTags,
  type StatusMean,
  type TagDay,
} from '../../query/figures/people.ts';
import { ALL_PEOPLE, allTags } from '../../query/figures/whole.ts';
import { countedSection } from '../charts/counted.ts';
import { peopleTable, tagTable } from '../charts/work.ts';
import type { FirstCopy } from '../../query/reads/ages.ts';
import { copyNotice, copyOf, emptyOf, noteOf } from '../frame/first-copy.ts';
import { html, type Html } from '../frame/html.ts';
import { statusWord } from '../frame/items.ts';
import { cutNote, type PageContent, section, table } from '../frame/layout.ts';
import { inboxPath } from '../frame/links.ts';
import { missingNotice, stampOf } from '../frame/stamp.ts';
import { dayBefore, lengthOf, named } from '../frame/words.ts';
import type { Visit } from '../pages.ts';
import { DAYS, tagChart } from './tag-chart.ts';

/** `/people`: who has how much work, how long conversations stay in a status, and what tags are given. */
export async function peoplePage({ desk, moment }: Visit): Promise<PageContent> {
  const { people, tags, lists, missing } = await desk.quick('people', async (read) => ({
    people: await readPeople(read),
    tags: await readTags(read),
    lists: await readFreshness(read),
    missing: await readMissing(read),
  }));
  const copy = copyOf(lists);
  const cut = (rows: readonly (PersonWork | TagWork)[], sql: string): Html | string | undefined =>
    noteOf(copy, cutNote(rows.length, rows[0]?.in_all ?? 0, sql));
  const since = dayBefore(moment, DAYS - 1);
  const [given, means] = await Promise.all([
    desk.history(`tags ${since} ${copy === null}`, (read) => readTagDays(read, since)),
    desk.history(`means ${copy === null}`, readStatusMeans),
  ]);
  const chart = (days: readonly TagDay[]): Html => tagChart(days, since, copy);
  return {
    title: 'People and tags',
    active: '/people',
    stamp: stampOf(lists, moment),
    refresh: given === null || means === null ? 2 : undefined,
    body: html`${copyNotice(copy)}${missingNotice(missing)}${section('Workload', workload(people, copy), {
        wide: true,
        note: cut(people, ALL_PEOPLE),
      })}
      <div class="columns">
        ${countedSection(`Tags given a day, ${DAYS} days`, given, { moment, copy }, chart)}
        ${countedSection('Time in status', means, { moment, copy }, meansTable)}
      </div>
      ${section('Tags', tagsOfInboxes(tags, copy), { wide: true, note: cut(tags, allTags(null)) })}`,
  };
}

function workload(people: readonly PersonWork[], copy: FirstCopy | null): Html {
  const last = { name: 'Inboxes', number: true, cell: ({ inboxes }: PersonWork) => inboxes };
  const empty = emptyOf(copy, 'No person has an open or pending conversation.');
  return peopleTable('Workload', people, { empty, last });
}

function tagsOfInboxes(tags: readonly TagWork[], copy: FirstCopy | null): Html {
  const cell = ({ inbox_id: id, inbox }: TagWork): Html =>
    html`<a href="${inboxPath(id)}">${named(inbox, id)}</a>`;
  const empty = emptyOf(copy, 'No conversation carries a tag.');
  return tagTable(tags, { empty, second: { name: 'Inbox', cell } });
}

function meansTable(means: readonly StatusMean[]): Html {
  const rows = means.map(({ status, conversations, seconds, at_least: atLeast }) => [
    statusWord(status),
    `${lengthOf(seconds * SECOND)}${atLeast > 0 ? ' or more' : ''}`,
    thousands(conversations),
  ]);
  const columns = [{ name: 'Status' }, { name: 'Mean time' }, { name: 'Conversations', number: true }];
  return table('Time in status', columns, rows, 'The mirror has not watched for long enough.');
}
