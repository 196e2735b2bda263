import { duration, thousands } from '../../core/humanize.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import type { TagWork } from '../../query/figures/inbox.ts';
import {
  type PersonWork,
  readPeople,
  readStatusMeans,
  readTagDays,
  readTags,
  type StatusMean,
} from '../../query/figures/people.ts';
import { peopleTable, tagTable } from '../charts/work.ts';
import type { Counted } from '../frame/desk.ts';
import { html, type Html } from '../frame/html.ts';
import { statusWord } from '../frame/items.ts';
import { type PageContent, section, table } from '../frame/layout.ts';
import { inboxPath } from '../frame/links.ts';
import { stampOf } from '../frame/stamp.ts';
import { ago, dayBefore, type Moment, named } from '../frame/words.ts';
import type { Visit } from '../pages.ts';
import { DAYS, tagChart } from './tag-chart.ts';

/** `/people`: who has how much work, how long conversations stay in a status, and what tags are given. */
export async function peoplePage({ desk, moment }: Visit): Promise<PageContent> {
  const { people, tags, lists } = await desk.quick('people', async (read) => ({
    people: await readPeople(read),
    tags: await readTags(read),
    lists: await readFreshness(read),
  }));
  const since = dayBefore(moment, DAYS - 1);
  const given = await desk.history(`tags ${since}`, (read) => readTagDays(read, since));
  const means = await desk.history('means', readStatusMeans);
  return {
    title: 'People and tags',
    active: '/people',
    stamp: stampOf(lists, moment),
    refresh: given === null || means === null ? 2 : undefined,
    body: html`${section('Workload', workload(people), { wide: true })}
      <div class="columns">
        ${counted(`Tags given a day, ${DAYS} days`, given, moment, (days) => tagChart(days, since))}
        ${counted('Time in status', means, moment, meansTable)}
      </div>
      ${section('Tags', tagsOfInboxes(tags), { wide: true })}`,
  };
}

/** A section over time, or that it is being counted. */
function counted<Result>(
  heading: string,
  history: Counted<Result> | null,
  moment: Moment,
  body: (result: Result) => Html,
): Html {
  if (history === null) {
    const words = 'The history is being counted. This page shows it in a moment.';
    return section(heading, html`<p class="empty counting">${words}</p>`);
  }
  const note = html`Counted ${ago(new Date(history.at), moment)}`;
  return section(heading, body(history.result), { note });
}

function workload(people: readonly PersonWork[]): Html {
  const last = { name: 'Inboxes', number: true, cell: ({ inboxes }: PersonWork) => inboxes };
  return peopleTable('Workload', people, { empty: 'No person has an open or pending conversation.', last });
}

function tagsOfInboxes(tags: readonly TagWork[]): Html {
  const cell = ({ inbox_id: id, inbox }: TagWork): Html =>
    html`<a href="${inboxPath(id)}">${named(inbox, id)}</a>`;
  return tagTable(tags, { empty: 'No conversation carries a tag.', second: { name: 'Inbox', cell } });
}

function meansTable(means: readonly StatusMean[]): Html {
  const rows = means.map(({ status, conversations, seconds, at_least: atLeast }) => [
    statusWord(status),
    `${duration(seconds * 1000)}${atLeast > 0 ? ' or more' : ''}`,
    thousands(conversations),
  ]);
  const columns = [{ name: 'Status' }, { name: 'Mean time' }, { name: 'Conversations', number: true }];
  return table('Time in status', columns, rows, 'The mirror has not watched for long enough.');
}
