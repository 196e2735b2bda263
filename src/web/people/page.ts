import { duration, thousands } from '../../core/humanize.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import {
  type InboxTagWork,
  type PersonWork,
  readPeople,
  readStatusMeans,
  readTagDays,
  readTags,
  type StatusMean,
} from '../../query/figures/people.ts';
import { shareBar } from '../charts/share.ts';
import type { Counted } from '../frame/desk.ts';
import { html, type Html } from '../frame/html.ts';
import { personName, statusWord, tagChip } from '../frame/items.ts';
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
    body: html`${section('Workload', peopleTable(people), { wide: true })}
      <div class="columns">
        ${counted(`Tags given a day, ${DAYS} days`, given, moment, (days) => tagChart(days, since))}
        ${counted('Time in status', means, moment, meansTable)}
      </div>
      ${section('Tags', tagTable(tags), { wide: true })}`,
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

function peopleTable(people: readonly PersonWork[]): Html {
  const most = Math.max(0, ...people.map(({ open, pending }) => open + pending));
  const rows = people.map(({ assignee, assignee_id: id, inboxes, open, pending }) => [
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
    inboxes,
  ]);
  const columns = [
    { name: 'Assignee' },
    { name: 'Work' },
    { name: 'Open', number: true },
    { name: 'Pending', number: true },
    { name: 'Inboxes', number: true },
  ];
  return table('Workload', columns, rows, 'No person has an open or pending conversation.');
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

function tagTable(tags: readonly InboxTagWork[]): Html {
  const most = Math.max(0, ...tags.map(({ not_closed: open }) => open));
  const rows = tags.map((tag) => [
    tagChip(tag),
    html`<a href="${inboxPath(tag.inbox_id)}">${named(tag.inbox, tag.inbox_id)}</a>`,
    shareBar([{ value: tag.not_closed, colour: 'plain' }], most),
    thousands(tag.not_closed),
    thousands(tag.conversations),
  ]);
  const columns = [
    { name: 'Tag' },
    { name: 'Inbox' },
    { name: 'Not closed' },
    { name: 'Now', number: true },
    { name: 'In all', number: true },
  ];
  return table('Tags', columns, rows, 'No conversation carries a tag.');
}
