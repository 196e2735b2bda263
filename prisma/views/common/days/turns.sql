WITH RECURSIVE
  chosen AS MATERIALIZED (
    SELECT day, starts_at, ends_at FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2
  ),
  PART(statuses),
  PART(day_turns, chosen)
SELECT day, inbox_id, assignee_id, old_status, new_status, turns FROM computed_turns
