CREATE VIEW unassigned_age AS
WITH
  waiting AS (
    SELECT inbox_id, id, STATUS_OF(status) AS status, first_seen_at, permalink,
      -- The last time that its assignee went, or that it came.
      (SELECT max(changes.id) FROM changes
       WHERE changes.list = 'conversations' AND changes.inbox_id = conversations.inbox_id AND changes.item_id = conversations.id
         AND changes.field IN ('assignee_id', 'presence', 'status')
         AND (changes.field = 'assignee_id' OR changes.new_value = 'present' AND changes.field = 'presence')) AS change_id
    FROM conversations
    WHERE deleted_at IS NULL AND assignee_id IS NULL AND STATUS_OF(status) <> 'closed'
  ),
  returned AS (
    SELECT item_id AS inbox_id, max(observed_at) AS back_at FROM changes
    WHERE list = 'inboxes' AND inbox_id IS NULL AND field IN ('assignee_id', 'presence', 'status') AND field = 'presence' AND new_value = 'present'
    GROUP BY item_id
  ),
  begun AS (
    SELECT waiting.inbox_id, waiting.id, waiting.status, waiting.permalink,
      CASE WHEN returned.back_at > coalesce(changes.observed_at, waiting.first_seen_at) THEN returned.back_at
        ELSE coalesce(changes.observed_at, waiting.first_seen_at) END AS since,
      (changes.id IS NULL AND (returned.back_at IS NULL OR returned.back_at <= waiting.first_seen_at)) AS is_lower_bound
    FROM waiting
    LEFT JOIN changes ON changes.id = waiting.change_id
    LEFT JOIN returned ON returned.inbox_id = waiting.inbox_id
  )
SELECT inbox_id, id AS conversation_id, status, since, MILLISECONDS_BETWEEN(since, NOW()) / 1000 AS age_seconds, is_lower_bound, permalink
FROM begun
