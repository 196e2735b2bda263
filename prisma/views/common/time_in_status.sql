CREATE VIEW time_in_status AS
-- Window functions instead of GROUP BY: only through them SQLite passes a condition on one conversation down
-- to the tables.
WITH
  ended AS (
    SELECT inbox_id, conversation_id, status, from_at, is_lower_bound,
      -- An interval that began while the clock was ahead has lasted 0 seconds.
      coalesce(to_at, CASE WHEN from_at > NOW() THEN from_at ELSE NOW() END) AS until_at
    FROM status_intervals
  ),
  summed AS (
    SELECT inbox_id, conversation_id, status,
      sum(MILLISECONDS_BETWEEN(from_at, until_at))
        OVER (PARTITION BY inbox_id, conversation_id, status) AS milliseconds,
      count(*) OVER (PARTITION BY inbox_id, conversation_id, status) AS visits,
      max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END)
        OVER (PARTITION BY inbox_id, conversation_id, status) AS bound,
      row_number() OVER (PARTITION BY inbox_id, conversation_id, status ORDER BY from_at) AS nth
    FROM ended
  )
SELECT inbox_id, conversation_id, status, CAST(milliseconds AS BIGINT) / 1000 AS seconds,
  CAST(visits AS INTEGER) AS visits, bound = 1 AS is_lower_bound
FROM summed
WHERE nth = 1
