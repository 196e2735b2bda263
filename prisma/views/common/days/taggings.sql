WITH RECURSIVE
  chosen AS MATERIALIZED (
    SELECT day, starts_at, ends_at FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2
  ),
  PART(day_taggings, chosen)
SELECT day, inbox_id, tag_id, edge, taggings FROM computed_taggings
