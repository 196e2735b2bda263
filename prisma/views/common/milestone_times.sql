CREATE VIEW milestone_times AS
WITH RECURSIVE
  PART(statuses),
  PART(meanings),
  PART(turns),
  closes AS (
    SELECT inbox_id, conversation_id, min(CASE WHEN closed = 1 THEN at END) AS first_closed_at,
      max(CASE WHEN closed = 1 THEN at END) AS last_closed_at,
      max(CASE WHEN closed = 0 THEN at END) AS last_reopened_at
    FROM turns GROUP BY inbox_id, conversation_id
  ),
  seen AS (
    SELECT inbox_id, conversation_id, min(from_at) AS first_seen_at
    FROM status_spans GROUP BY inbox_id, conversation_id
    HAVING max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) = 0
  ),
  closed AS (
    SELECT seen.inbox_id, seen.first_seen_at, closes.first_closed_at, closes.last_closed_at,
      closes.last_reopened_at
    FROM seen
    JOIN closes ON closes.inbox_id = seen.inbox_id AND closes.conversation_id = seen.conversation_id
    WHERE closes.first_closed_at IS NOT NULL
  ),
  timed AS (
    SELECT inbox_id, 'first assignment' AS milestone, seconds_to_first AS seconds
    FROM assignments WHERE NOT is_lower_bound AND seconds_to_first IS NOT NULL
    UNION ALL
    SELECT inbox_id, 'first close', MILLISECONDS_BETWEEN(first_seen_at, first_closed_at) / 1000 FROM closed
    UNION ALL
    SELECT inbox_id, 'last close', MILLISECONDS_BETWEEN(first_seen_at, last_closed_at) / 1000
    FROM closed WHERE last_reopened_at IS NULL OR last_reopened_at < last_closed_at
  ),
  PART(shares, milestone)
SELECT shared.inbox_id, inboxes.display_name AS inbox, shared.milestone, shared.conversations,
  shared.mean_seconds, shared.median_seconds, shared.p90_seconds,
  shared.within_1h, shared.within_4h, shared.within_8h, shared.within_24h
FROM shared
JOIN inboxes ON inboxes.id = shared.inbox_id
