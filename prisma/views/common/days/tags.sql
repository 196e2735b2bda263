WITH RECURSIVE
  chosen AS MATERIALIZED (
    SELECT day, starts_at, ends_at FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2
  ),
  PART(statuses),
  PART(day_owners, chosen, tag_spans, tag_id)
SELECT day, inbox_id, tag_id, status, difference FROM computed_owners WHERE difference <> 0
