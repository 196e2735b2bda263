CREATE VIEW unassigned_age AS
WITH
  -- MATERIALIZED: otherwise each use of changed_at would run its subquery again.
  waiting AS MATERIALIZED (
    SELECT inbox_id, id, STATUS_OF(status) AS status, first_seen_at, permalink,
      -- The last time that it lost its assignee, was reopened or appeared.
      (SELECT changes.observed_at FROM changes
       WHERE changes.list = 'conversations' AND changes.inbox_id = conversations.inbox_id
         AND changes.item_id = conversations.id
         AND changes.field IN ('assignee_id', 'presence', 'status')
         AND (changes.field = 'assignee_id' OR changes.new_value = 'present' AND changes.field = 'presence'
           OR changes.field = 'status' AND STATUS_OF(changes.old_value) = 'closed')
       ORDER BY changes.id DESC LIMIT 1) AS changed_at
    FROM conversations
    WHERE deleted_at IS NULL AND assignee_id IS NULL
      AND (status IS NULL OR status NOT IN ('close', 'closed'))
  ),
  returned AS (
    SELECT item_id AS inbox_id, max(observed_at) AS back_at FROM changes
    WHERE list = 'inboxes' AND inbox_id IS NULL AND field = 'presence' AND new_value = 'present'
    GROUP BY item_id
  ),
  begun AS (
    SELECT waiting.inbox_id, waiting.id, waiting.status, waiting.permalink,
      CASE WHEN returned.back_at > coalesce(waiting.changed_at, waiting.first_seen_at) THEN returned.back_at
        ELSE coalesce(waiting.changed_at, waiting.first_seen_at) END AS since,
      (waiting.changed_at IS NULL
        AND (returned.back_at IS NULL OR returned.back_at <= waiting.first_seen_at)) AS is_lower_bound
    FROM waiting
    LEFT JOIN returned ON returned.inbox_id = waiting.inbox_id
  )
SELECT inbox_id, id AS conversation_id, status, since,
  CASE WHEN since > NOW() THEN 0 ELSE MILLISECONDS_BETWEEN(since, NOW()) / 1000 END AS age_seconds,
  is_lower_bound, permalink
FROM begun
