/** A question that people ask, with its SQL (docs/sql.md, "Cookbook"). */
export interface Example {
  readonly question: string;
  readonly sql: string;
}

/** The examples of the page "Ask". */
export const EXAMPLES: readonly Example[] = [
  {
    question: 'How much is open in each inbox?',
    sql: `SELECT inbox, open, pending, unassigned FROM backlog_now ORDER BY open DESC`,
  },
  {
    question: 'Which assignees have the most work?',
    sql: `SELECT assignee, sum(open) AS open, sum(pending) AS pending
FROM assignee_workload GROUP BY assignee_id, assignee
ORDER BY sum(open) DESC, sum(pending) DESC LIMIT 20`,
  },
  {
    question: 'Which unassigned conversations wait longest?',
    sql: `SELECT inboxes.display_name AS inbox, conversation_id, status, since, permalink
FROM unassigned_age JOIN inboxes ON inboxes.id = unassigned_age.inbox_id
ORDER BY since LIMIT 20`,
  },
  {
    question: 'How has the backlog developed?',
    sql: `SELECT day,
  sum(CASE WHEN meaning = 'open' THEN conversations ELSE 0 END) AS open,
  sum(CASE WHEN meaning = 'waiting' THEN conversations ELSE 0 END) AS pending
FROM backlog_daily GROUP BY day ORDER BY day DESC LIMIT 60`,
  },
  {
    question: 'Do we close as much as comes in?',
    sql: `SELECT day, sum(appeared) + sum(reopened) AS came, sum(closed) AS closed
FROM flow_daily GROUP BY day ORDER BY day DESC LIMIT 30`,
  },
  {
    question: 'Which tags cause the most open work?',
    sql: `SELECT tag, sum(not_closed) AS not_closed, sum(conversations) AS conversations
FROM tag_volume GROUP BY tag ORDER BY sum(not_closed) DESC LIMIT 20`,
  },
  {
    question: 'Which conversations are reopened most often?',
    sql: `SELECT inbox_id, conversation_id, closes, reopens FROM reopens
WHERE reopens > 0 ORDER BY reopens DESC, closes DESC LIMIT 20`,
  },
  {
    question: 'How current are the figures?',
    sql: `SELECT list, count(*) AS lists, max(age_seconds) / 60 AS oldest_minutes
FROM freshness GROUP BY list ORDER BY list`,
  },
];
