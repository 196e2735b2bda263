CREATE VIEW time_in_status AS
-- GROUP BY on the columns of a condition, and no window functions: SQLite passes a condition on one inbox or
-- conversation down to the tables.
WITH
  ended AS (
    SELECT inbox_id, conversation_id, status, from_at, is_lower_bound,
      -- An interval that began while the clock was ahead has lasted 0 seconds.
      CASE WHEN to_at IS NOT NULL THEN to_at WHEN from_at > NOW() THEN from_at ELSE NOW() END AS until_at
    FROM status_intervals
  )
SELECT inbox_id, conversation_id, status,
  CAST(sum(MILLISECONDS_BETWEEN(from_at, until_at)) AS BIGINT) / 1000 AS seconds,
  CAST(count(*) AS INTEGER) AS visits, max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) = 1 AS is_lower_bound,
  MEANING_OF(status) AS meaning
FROM ended
GROUP BY inbox_id, conversation_id, status
