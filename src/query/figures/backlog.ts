import type { Read } from './lane.ts';

/** At most this many unassigned conversations on a page. */
const MOST_UNASSIGNED = 12;

/** The present backlog of an inbox. */
export interface InboxBacklog {
  readonly inbox_id: string;
  readonly inbox: string | null;
  readonly open: number;
  readonly pending: number;
  readonly closed: number;
  readonly other: number;
  readonly unassigned: number;
}

/** A conversation without an assignee. */
export interface UnassignedRow {
  readonly inbox_id: string;
  readonly inbox: string | null;
  readonly conversation_id: string;
  readonly status: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** The true time is `since` or earlier. */
  readonly is_lower_bound: boolean | number;
  readonly permalink: string | null;
}

/** The backlog at the end of a day of REPORT_TIMEZONE; of today, now. */
export interface BacklogDay {
  readonly day: string;
  readonly open: number;
  readonly pending: number;
}

export interface FlowDay {
  readonly day: string;
  /** New conversations that were not closed when first seen. */
  readonly came_open: number;
  readonly closed: number;
  readonly reopened: number;
}

/** The backlog of each inbox, the largest first. @param inboxId null: of all inboxes */
export async function readBacklog(read: Read, inboxId: string | null = null): Promise<InboxBacklog[]> {
  return await read<InboxBacklog>(
    `SELECT inbox_id, inbox, open, pending, closed, other, unassigned FROM backlog_now
     ${inboxId === null ? '' : 'WHERE inbox_id = $1'}
     ORDER BY open + pending + other DESC, lower(inbox), inbox_id`,
    ...(inboxId === null ? [] : [inboxId]),
  );
}

/** The conversations that wait longest for an assignee. @param inboxId null: of all inboxes */
export async function readUnassigned(read: Read, inboxId: string | null): Promise<UnassignedRow[]> {
  const ofInbox = inboxId === null ? '' : 'WHERE unassigned_age.inbox_id = $1';
  return await read<UnassignedRow>(
    `SELECT unassigned_age.inbox_id, inboxes.display_name AS inbox, conversation_id, status, since,
       is_lower_bound, permalink
     FROM unassigned_age
     JOIN inboxes ON inboxes.id = unassigned_age.inbox_id AND inboxes.deleted_at IS NULL
     ${ofInbox} ORDER BY since, conversation_id LIMIT ${MOST_UNASSIGNED}`,
    ...(inboxId === null ? [] : [inboxId]),
  );
}

/**
 * Open and pending conversations at the end of each day, the oldest first. Statuses mean what they mean in
 * `backlog_now`.
 * @param since the first day in REPORT_TIMEZONE, such as `2026-03-02`
 */
export async function readBacklogDays(
  read: Read,
  inboxId: string | null,
  since: string,
): Promise<BacklogDay[]> {
  const [ofDays, values] = ofDaysSince(since, inboxId);
  const having = (meaning: string): string =>
    `CAST(sum(CASE WHEN meaning = '${meaning}' THEN conversations ELSE 0 END) AS INTEGER)`;
  return await read<BacklogDay>(
    `SELECT day, ${having('open')} AS open, ${having('waiting')} AS pending
     FROM backlog_daily WHERE ${ofDays} GROUP BY day ORDER BY day`,
    ...values,
  );
}

/**
 * How many conversations came open, were closed and were reopened on each day, the oldest day first. These
 * figures fit the backlog: `appeared` also counts those that came closed, and those back with their inbox.
 */
export async function readFlowDays(read: Read, inboxId: string | null, since: string): Promise<FlowDay[]> {
  const [ofDays, values] = ofDaysSince(since, inboxId);
  return await read<FlowDay>(
    `SELECT day, CAST(sum(came_open) AS INTEGER) AS came_open, CAST(sum(closed) AS INTEGER) AS closed,
       CAST(sum(reopened) AS INTEGER) AS reopened
     FROM flow_daily WHERE ${ofDays} GROUP BY day ORDER BY day`,
    ...values,
  );
}

function ofDaysSince(since: string, inboxId: string | null): [condition: string, values: string[]] {
  return inboxId === null ? ['day >= $1', [since]] : ['day >= $1 AND inbox_id = $2', [since, inboxId]];
}
