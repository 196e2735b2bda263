CREATE VIEW time_in_status AS
WITH ended AS (
  SELECT inbox_id, conversation_id, status, from_at, coalesce(to_at, NOW()) AS until_at, is_lower_bound FROM status_intervals
)
SELECT inbox_id, conversation_id, status,
  CAST(sum(MILLISECONDS_BETWEEN(from_at, until_at)) AS BIGINT) / 1000 AS seconds,
  CAST(count(*) AS INTEGER) AS visits,
  max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) = 1 AS is_lower_bound
FROM ended
GROUP BY inbox_id, conversation_id, status
