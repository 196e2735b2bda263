WITH
  PART(intervals, assignee_id, status, ID_OF)
SELECT inbox_id, conversation_id, nullif(value, '') AS assignee_id,
  from_at, from_earliest, to_at, is_lower_bound, by_sweep
FROM intervals
