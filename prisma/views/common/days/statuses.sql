WITH RECURSIVE
  chosen AS MATERIALIZED (
    SELECT day, starts_at, ends_at FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2
  ),
  PART(statuses),
  PART(day_statuses, chosen)
SELECT day, inbox_id, status, difference FROM computed_statuses WHERE difference <> 0
