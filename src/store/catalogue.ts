/** What each table and view is, in a sentence: the one copy. `inbox-mirror tables` prints it; docs/tables.md and docs/sql.md are tested against it. */
export const TABLE_SENTENCES: Readonly<Record<string, string>> = {
  inboxes: 'The shared inboxes; a row with `deleted_at` is gone.',
  inbox_users: 'The users of each inbox.',
  inbox_tags: 'The tags of each inbox.',
  conversations: 'The conversations of each inbox; one that is in two inboxes has a row in each.',
  conversation_tags: 'Which tags a conversation carries; those of a deleted one stay.',
  changes: 'Every difference between two sightings of one item.',
  sweeps: 'One walk over a list.',
  sweep_pages: 'Which ids one page held; of the two last complete sweeps and what came since.',
  requests: 'The ledger: one request, noted before it was sent.',
  rejects: 'A row of the latest sweep that could not be read.',
  leases: 'Who is writing (`writer`), who goes next at the gate (`slot`).',
  sync_requests: 'One pass that somebody asked for.',
  schedules: 'When each kind of list is due.',
  webhooks: 'How far the changes have been delivered to a webhook.',
  gate_state: 'What the gate remembers over a restart: one row.',
  settings: 'What the views need to know of the configuration.',
  report_days: 'The days of `REPORT_TIMEZONE`, as instants.',
};

/** In the order in which they are made: a view stands after those that it reads. */
export const VIEW_SENTENCES: Readonly<Record<string, string>> = {
  freshness: 'How current each list is, and whether it is as fresh as its schedule promises.',
  budget: 'How many of the requests of the last 24 hours are spent.',
  backlog_now: 'How many conversations each inbox has in each status, and how many are unassigned.',
  assignee_workload: 'How many open and pending conversations each assignee has in each inbox.',
  unassigned_age: 'Each conversation that is unassigned and not closed, and since when.',
  tag_volume: 'How many conversations carry each tag.',
  status_intervals: 'Which status each conversation had, from when to when.',
  assignee_intervals: 'Which assignee, if any, each conversation had, from when to when.',
  time_in_status: 'How long each conversation has been in each status, all visits added up.',
  backlog_daily: 'How many conversations had each status at the end of each day.',
  flow_daily: 'How many conversations appeared, were closed, were reopened and were removed each day.',
  reopens: 'How often each conversation was closed and opened again.',
  assignments: 'When each conversation was first assigned, and how often it was reassigned.',
};

export const VIEW_NAMES: readonly string[] = Object.keys(VIEW_SENTENCES);
