import { type AssigneeWork, type TagWork, tagWork } from './inbox.ts';
import type { Read } from './lane.ts';

/** At most this many people and tags on the page. */
const MOST_PEOPLE = 100;
const MOST_TAGS = 40;

/** Tags in the chart over time. */
const CHARTED = 5;

/** The work of a person in all inboxes together. */
export interface PersonWork extends AssigneeWork {
  readonly inboxes: number;
  /** How many people there are in all. */
  readonly in_all: number;
}

/** How long conversations were in a status, over all of them. */
export interface StatusMean {
  readonly status: string;
  readonly conversations: number;
  /** The mean time of a conversation in this status, in seconds. */
  readonly seconds: number;
  /** How many of these times are lower bounds. */
  readonly at_least: number;
}

/** How often a conversation got a tag on a day, appeared with it or returned with it: `tag_daily`. */
export interface TagDay {
  readonly day: string;
  readonly tag: string;
  readonly added: number;
  /** The first day that has a figure of any tag: the mirror has known tags of conversations since then. */
  readonly first_day: string;
}

/** Reads the people with open or pending conversations, those with the most first. */
export async function readPeople(read: Read): Promise<PersonWork[]> {
  return await read<PersonWork>(
    `SELECT assignee_id, max(assignee) AS assignee, CAST(count(*) AS INTEGER) AS inboxes,
       CAST(sum(open) AS INTEGER) AS open, CAST(sum(pending) AS INTEGER) AS pending,
       CAST(count(*) OVER () AS INTEGER) AS in_all
     FROM assignee_workload GROUP BY assignee_id
     ORDER BY sum(open) + sum(pending) DESC, max(assignee), assignee_id LIMIT ${MOST_PEOPLE}`,
  );
}

/** The tags that cause the most work. */
export async function readTags(read: Read): Promise<TagWork[]> {
  return await read<TagWork>(`${tagWork('1 = 1')} LIMIT ${MOST_TAGS}`);
}

/** The mean time of conversations in each status. It reads the whole history. */
export async function readStatusMeans(read: Read): Promise<StatusMean[]> {
  return await read<StatusMean>(
    `SELECT status, CAST(count(*) AS INTEGER) AS conversations, CAST(avg(seconds) AS INTEGER) AS seconds,
       CAST(sum(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) AS INTEGER) AS at_least
     FROM time_in_status GROUP BY status ORDER BY status`,
  );
}

/**
 * How often conversations got, or came with, each of the busiest tags on each day, the oldest day first. Tags
 * of one name in several inboxes count together. A tag without a name has its id.
 * @param since the first day in REPORT_TIMEZONE
 */
export async function readTagDays(read: Read, since: string): Promise<TagDay[]> {
  return await read<TagDay>(
    `WITH
       daily AS MATERIALIZED (
         SELECT day, coalesce(nullif(tag, ''), tag_id) AS tag, tagged FROM tag_daily WHERE day >= $1
       ),
       given AS (SELECT day, tag, sum(tagged) AS added FROM daily WHERE tagged > 0 GROUP BY day, tag),
       busiest AS (SELECT tag FROM given GROUP BY tag ORDER BY sum(added) DESC, tag LIMIT ${CHARTED})
     SELECT day, given.tag, CAST(added AS INTEGER) AS added, (SELECT min(day) FROM daily) AS first_day
     FROM given JOIN busiest ON busiest.tag = given.tag ORDER BY day, given.tag`,
    since,
  );
}
