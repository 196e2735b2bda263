CREATE VIEW backlog_daily AS
WITH
  -- Today's figures are known; those of each day before follow by taking back what happened since.
  moved AS (
    SELECT days.day, changes.inbox_id, changes.old_value, changes.new_value, count(*) AS n
    FROM report_days AS days
    CROSS JOIN inboxes
    CROSS JOIN changes
    WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'status'
      AND changes.inbox_id = inboxes.id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
    GROUP BY days.day, changes.inbox_id, changes.old_value, changes.new_value
  ),
  -- What came or went had the status that its next change found, or that is there now.
  came AS (
    SELECT days.day, changes.inbox_id, changes.new_value,
      coalesce(
        (SELECT STATUS_OF(later.old_value) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = changes.inbox_id AND later.item_id = changes.item_id AND later.id > changes.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status' ORDER BY later.id LIMIT 1),
        (SELECT STATUS_OF(conversations.status) FROM conversations
         WHERE conversations.inbox_id = changes.inbox_id AND conversations.id = changes.item_id)) AS status
    FROM report_days AS days
    CROSS JOIN inboxes
    CROSS JOIN changes
    WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'presence'
      AND changes.inbox_id = inboxes.id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
  ),
  differences AS (
    SELECT day, inbox_id, status, sum(n) AS n FROM (
      SELECT day, inbox_id, STATUS_OF(new_value) AS status, n FROM moved
      UNION ALL SELECT day, inbox_id, STATUS_OF(old_value), -n FROM moved
      UNION ALL SELECT day, inbox_id, status, CASE WHEN new_value = 'present' THEN 1 ELSE -1 END FROM came
    ) AS all_moves
    GROUP BY inbox_id, status, day
  ),
  -- A gone inbox's conversations are counted as if it were there; its days are left out below.
  present AS (
    SELECT conversations.inbox_id, STATUS_OF(conversations.status) AS status, count(*) AS n
    FROM inboxes
    JOIN conversations ON conversations.inbox_id = inboxes.id
    WHERE conversations.deleted_at IS NULL OR conversations.deleted_at = inboxes.deleted_at
    GROUP BY conversations.inbox_id, STATUS_OF(conversations.status)
  ),
  kinds AS (SELECT inbox_id, status FROM present UNION SELECT inbox_id, status FROM differences),
  known AS (
    SELECT inbox_id, min(finished_at) AS since FROM sweeps
    WHERE list = 'conversations' AND state = 'complete' AND inbox_id IS NOT NULL GROUP BY inbox_id
  ),
  ends AS (
    SELECT days.day, known.inbox_id,
      (SELECT seen.new_value FROM changes AS seen
       WHERE seen.list = 'inboxes' AND seen.inbox_id IS NULL AND seen.item_id = known.inbox_id AND seen.field = 'presence'
         AND seen.observed_at < days.ends_at ORDER BY seen.id DESC LIMIT 1) AS presence
    FROM known
    JOIN report_days AS days ON days.ends_at > known.since AND days.starts_at <= NOW()
  ),
  counted AS (
    SELECT ends.day, ends.inbox_id, ends.presence, kinds.status,
      coalesce(present.n, 0) - coalesce(sum(differences.n) OVER (
        PARTITION BY ends.inbox_id, kinds.status ORDER BY ends.day DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS n
    FROM ends
    JOIN kinds ON kinds.inbox_id = ends.inbox_id
    LEFT JOIN present ON present.inbox_id = kinds.inbox_id AND present.status = kinds.status
    LEFT JOIN differences ON differences.inbox_id = kinds.inbox_id AND differences.status = kinds.status AND differences.day = ends.day
  )
SELECT day, inbox_id, status, CAST(n AS INTEGER) AS conversations
FROM counted
WHERE presence IS NULL OR presence <> 'missing'
