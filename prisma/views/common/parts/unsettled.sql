-- The live conversations that are not closed. The index conversations_unsettled holds them, except those with
-- one of the service's two words for closed, if FINAL_STATUSES leaves these out.
  unfinal AS (
    SELECT word FROM (SELECT 'close' AS word UNION ALL SELECT 'closed') AS words WHERE NOT IS_FINAL(word)
  ),
  unsettled AS (
    SELECT inbox_id, id, STATUS_OF(status) AS status, assignee_id, first_seen_at, changed_at, permalink
    FROM conversations
    WHERE deleted_at IS NULL AND (status IS NULL OR status NOT IN ('close', 'closed'))
      AND NOT IS_FINAL(status)
    UNION ALL
    SELECT inbox_id, id, STATUS_OF(status), assignee_id, first_seen_at, changed_at, permalink
    FROM unfinal CROSS JOIN conversations
    WHERE conversations.status = unfinal.word AND deleted_at IS NULL
  )
