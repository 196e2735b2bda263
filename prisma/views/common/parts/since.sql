-- Since when the conversations of `picked`, which are not closed, have been as they are: the last of their
-- reopening, their appearance, and any change of $1.
  -- MATERIALIZED: otherwise each use of begun_at would run its subquery again.
  waiting AS MATERIALIZED (
    SELECT picked.*,
      (SELECT changes.observed_at FROM changes
       WHERE changes.list = 'conversations' AND changes.inbox_id = picked.inbox_id
         AND changes.item_id = picked.id
         AND changes.field IN ('assignee_id', 'presence', 'status')
         AND (changes.field = '$1' OR changes.new_value = 'present' AND changes.field = 'presence'
           OR changes.field = 'status' AND IS_FINAL(changes.old_value))
       ORDER BY changes.id DESC LIMIT 1) AS begun_at
    FROM picked
  ),
  -- The last return of each inbox. If the clock was set back since, an earlier one can have a later instant.
  returned AS MATERIALIZED (
    SELECT item_id AS inbox_id, observed_at AS back_at FROM changes
    WHERE id IN (
      SELECT max(id) FROM changes
      WHERE list = 'inboxes' AND inbox_id IS NULL AND field = 'presence' AND new_value = 'present'
      GROUP BY item_id)
  ),
  begun AS (
    SELECT waiting.*,
      CASE WHEN returned.back_at > coalesce(waiting.begun_at, waiting.first_seen_at) THEN returned.back_at
        ELSE coalesce(waiting.begun_at, waiting.first_seen_at) END AS since,
      (waiting.begun_at IS NULL
        AND (returned.back_at IS NULL OR returned.back_at <= waiting.first_seen_at)) AS is_lower_bound
    FROM waiting
    LEFT JOIN returned ON returned.inbox_id = waiting.inbox_id
  )
