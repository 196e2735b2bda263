CREATE VIEW status_times AS
WITH
  stays AS (
    SELECT inbox_id, conversation_id, status,
      sum(CASE WHEN to_at IS NULL THEN 0 ELSE MILLISECONDS_BETWEEN(from_at, to_at) END) AS milliseconds
    FROM status_spans GROUP BY inbox_id, conversation_id, status
    -- Only times that are known from beginning to end.
    HAVING max(CASE WHEN is_lower_bound OR to_at IS NULL THEN 1 ELSE 0 END) = 0
  ),
  timed AS (
    SELECT inbox_id, status, CAST(milliseconds AS BIGINT) / 1000 AS seconds FROM stays
  ),
  PART(shares, status)
SELECT shared.inbox_id, inboxes.display_name AS inbox, shared.status, shared.conversations,
  shared.mean_seconds, shared.median_seconds, shared.p90_seconds,
  shared.within_1h, shared.within_4h, shared.within_8h, shared.within_24h,
  MEANING_OF(shared.status) AS meaning
FROM shared
JOIN inboxes ON inboxes.id = shared.inbox_id
