WITH
  PART(intervals, status, assignee_id, STATUS_OF),
  followed AS (
    SELECT intervals.*, lag(value) OVER life AS value_before, lag(to_at) OVER life AS ended_at
    FROM intervals
    WINDOW life AS (PARTITION BY inbox_id, conversation_id ORDER BY from_at)
  )
SELECT inbox_id, conversation_id, value AS status, from_at, from_earliest, to_at, is_lower_bound, by_sweep,
  CASE WHEN ended_at = from_at AND value_before <> value THEN value_before END AS status_before
FROM followed
