-- A conversation that appeared or was removed had the status that its next change of status names as the old
-- one. Without a later change, it had the present status.
  came AS (
    SELECT days.day, inboxes.id AS inbox_id, ways.n,
      coalesce(
        (SELECT STATUS_OF(later.old_value) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = changes.inbox_id
           AND later.item_id = changes.item_id AND later.id > changes.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status'
         ORDER BY later.id LIMIT 1),
        (SELECT STATUS_OF(conversations.status) FROM conversations
         WHERE conversations.inbox_id = changes.inbox_id AND conversations.id = changes.item_id)) AS status
    FROM report_days AS days
    CROSS JOIN inboxes
    CROSS JOIN (
      SELECT 'missing' AS old_value, 'present' AS new_value, 1 AS n
      UNION ALL SELECT 'present', 'missing', -1) AS ways
    CROSS JOIN changes
    WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
      AND changes.field = 'presence' AND changes.inbox_id = inboxes.id
      AND changes.old_value = ways.old_value AND changes.new_value = ways.new_value
      AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
  )
