WITH RECURSIVE
  chosen AS MATERIALIZED (
    SELECT day, starts_at, ends_at FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2
  ),
  PART(day_moves, chosen)
SELECT day, inbox_id, field, old_value, new_value, moves FROM computed_moves WHERE moves <> 0
