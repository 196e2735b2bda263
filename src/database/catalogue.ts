/** One sentence for each table. `inbox-mirror tables` prints it. */
export const TABLE_SENTENCES: Readonly<Record<string, string>> = {
  inboxes: 'The shared inboxes. A row with `deleted_at` is gone.',
  inbox_users: 'The users of each inbox.',
  inbox_tags: 'The tags of each inbox.',
  conversations: 'The conversations of each inbox. A conversation in two inboxes has a row in each.',
  conversation_tags: 'Which tags each conversation carries. Deleted conversations keep theirs.',
  changes: 'Every difference between two sightings of one item.',
  status_spans: 'The intervals of `status_intervals`, as the program keeps them.',
  assignee_spans: 'The intervals of `assignee_intervals`, as the program keeps them.',
  tag_spans: 'The intervals of `tag_intervals`, as the program keeps them.',
  epochs: 'Which writer wrote a change. A restored backup begins a new epoch.',
  sweeps: 'Each reading of all pages of one list.',
  sweep_pages:
    'Which ids each page held, for the two newest complete sweeps of each list and at most two later ones.',
  bookmarks: 'The tokens that lead to single pages of conversations, and what each page held.',
  bookmark_lists: "Whether the pages of each inbox's conversations can be read singly.",
  rates: 'How often rows of each kind have changed, as the planner has learned it.',
  requests: 'The ledger: each request to the service, written before it is sent.',
  rejects: 'The rows that the latest sweep of their list, or reading of their page, could not read.',
  unlisted: 'The live rows that their list leaves out, although the service returns them when asked.',
  undecided:
    'The conversations missing from their list on which the last answer of the service decided nothing.',
  leases: 'Which process writes (`writer`) or sends the next request (`slot`), and which keys were refused.',
  sync_requests: 'Each pass that a command, a program or the web pages requested.',
  schedules: 'When each kind of list is due.',
  schedule_slots:
    'The runs that each schedule names, each local time once, for a year ahead, as series of equal steps.',
  webhooks: 'How far the changes have been delivered to each webhook.',
  gate_state: 'The state of the gate across restarts, in one row.',
  settings: "Configuration values that the views need, and the way to the mirror's account.",
  report_days: 'When each day of `REPORT_TIMEZONE` begins and ends.',
  counted_days: 'The past days whose sums the program keeps, for the daily views.',
  day_statuses: 'By how much the number of conversations with each status changed on each counted day.',
  day_moves: 'How often conversations changed their status, appeared and were removed on each counted day.',
  day_assignees:
    'By how much the number of conversations with each assignee and status changed on each counted day.',
  day_turns: 'How often conversations of each assignee changed their status on each counted day.',
  day_tags: 'By how much the number of conversations with each tag and status changed on each counted day.',
  day_taggings:
    'How often conversations got or lost each tag, or had it when first seen, on each counted day.',
  report_offsets: 'How far `REPORT_TIMEZONE` is from UTC, from when to when.',
  office_hours: 'The office hours of `OFFICE_HOURS`, from when to when.',
};

/**
 * One sentence for each view; a test compares it with docs/sql.md. The order is that of creation: a view
 * follows the views that it reads.
 */
export const VIEW_SENTENCES: Readonly<Record<string, string>> = {
  freshness:
    "How current each list is, whether it keeps its promise, and how late the last day's changes were seen.",
  budget: 'How many requests this mirror sent in the last 24 hours, and how many its own limit leaves.',
  backlog_now: 'How many conversations each inbox has in each status, and how many are unassigned.',
  assignee_workload: 'How many open and pending conversations each assignee has in each inbox.',
  unassigned_age: 'Each conversation that is unassigned and not closed, and since when.',
  oldest_open: 'Each conversation that is not closed, since when, and since when nothing has changed.',
  tag_volume: 'How many conversations carry each tag.',
  status_intervals: 'Which status each conversation had, from when to when.',
  assignee_intervals: 'Which assignee, if any, each conversation had, from when to when.',
  tag_intervals: 'Which tags each conversation carried, from when to when.',
  time_in_status: 'How long each conversation has been in each status, all visits added up.',
  backlog_daily: 'How many conversations had each status at the end of each day.',
  flow_daily: 'How many conversations appeared, were closed, were reopened and were removed each day.',
  reopens: 'How often each conversation was closed and opened again.',
  assignments: 'When each conversation was first assigned, and how often it was reassigned.',
  handoffs: 'How often conversations of each inbox went from one assignee to another.',
  conversation_facts: 'One row for each conversation, with its history and its present state.',
  assignee_daily: 'How many conversations each person had to do, closed and had reopened each day.',
  tag_daily: 'How many conversations carried each tag at the end of each day, and how many got it that day.',
  arrivals_hourly: 'How many new conversations arrived in each hour of the week.',
  status_times: 'How long conversations stayed in each status: mean, median, 90th percentile and shares.',
  milestone_times:
    'How long until conversations were assigned and closed: mean, median, 90th percentile and shares.',
  reads: 'When each list was read completely, and how long after the reading before.',
  first_sights: 'The first sight of each item that was there before the history of its list began.',
  inbox_changes: 'The changes of inboxes.',
  user_changes: 'The changes of users.',
  tag_changes: 'The changes of tags.',
  conversation_changes: 'The changes of conversations.',
};

export const VIEW_NAMES: readonly string[] = Object.keys(VIEW_SENTENCES);
