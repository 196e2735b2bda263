WITH
  PART(intervals, status, assignee_id, STATUS_OF)
SELECT inbox_id, conversation_id, value AS status, from_at, from_earliest, to_at, is_lower_bound, by_sweep
FROM intervals
