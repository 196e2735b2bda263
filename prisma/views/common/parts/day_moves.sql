-- How often conversations of each inbox changed their status, appeared and were removed on the days $1. First
-- the pairs of old and new status: there are few among millions of changes, so each recursion step finds the
-- next value through the index instead of reading all changes.
  olds (inbox_id, value) AS (
    SELECT inboxes.id, (SELECT min(changes.old_value) FROM changes
      WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
        AND changes.field = 'status' AND changes.inbox_id = inboxes.id)
    FROM inboxes
    UNION ALL
    SELECT olds.inbox_id, (SELECT min(changes.old_value) FROM changes
      WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
        AND changes.field = 'status' AND changes.inbox_id = olds.inbox_id
        AND changes.old_value > olds.value)
    FROM olds WHERE olds.value IS NOT NULL
  ),
  kinds (inbox_id, old_value, new_value) AS (
    SELECT olds.inbox_id, olds.value, (SELECT min(changes.new_value) FROM changes
      WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
        AND changes.field = 'status' AND changes.inbox_id = olds.inbox_id
        AND changes.old_value = olds.value)
    FROM olds WHERE olds.value IS NOT NULL
    UNION ALL
    SELECT kinds.inbox_id, kinds.old_value, (SELECT min(changes.new_value) FROM changes
      WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
        AND changes.field = 'status' AND changes.inbox_id = kinds.inbox_id
        AND changes.old_value = kinds.old_value AND changes.new_value > kinds.new_value)
    FROM kinds WHERE kinds.new_value IS NOT NULL
  ),
  -- Changes from or to a missing status, which `=` cannot match. They are few, but after PRAGMA optimize has
  -- sampled an inbox with many changes, SQLite's planner would read all of them without READ_BY.
  nulls AS (
    SELECT changes.inbox_id, changes.observed_at, changes.old_value, changes.new_value
    FROM inboxes
    CROSS JOIN changes READ_BY(changes_moves)
    WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
      AND changes.field = 'status'
      AND changes.inbox_id = inboxes.id AND changes.old_value IS NULL
    UNION ALL
    SELECT changes.inbox_id, changes.observed_at, changes.old_value, changes.new_value
    FROM olds
    CROSS JOIN changes READ_BY(changes_moves)
    WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
      AND changes.field = 'status'
      AND changes.inbox_id = olds.inbox_id AND changes.old_value = olds.value AND changes.new_value IS NULL
  ),
  pairs AS (
    SELECT 'missing' AS old_value, 'present' AS new_value UNION ALL SELECT 'present', 'missing'
  ),
  counted_moves AS (
    SELECT $1.day, kinds.inbox_id, 'status' AS field, kinds.old_value, kinds.new_value,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
         AND changes.field = 'status' AND changes.inbox_id = kinds.inbox_id
         AND changes.old_value = kinds.old_value AND changes.new_value = kinds.new_value
         AND changes.observed_at >= $1.starts_at AND changes.observed_at < $1.ends_at) AS n
    FROM kinds
    CROSS JOIN $1
    WHERE kinds.new_value IS NOT NULL
    UNION ALL
    SELECT $1.day, nulls.inbox_id, 'status', nulls.old_value, nulls.new_value, 1
    FROM nulls
    CROSS JOIN $1
    WHERE nulls.observed_at >= $1.starts_at AND nulls.observed_at < $1.ends_at
    UNION ALL
    SELECT $1.day, inboxes.id, 'presence', pairs.old_value, pairs.new_value,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
         AND changes.field = 'presence' AND changes.inbox_id = inboxes.id
         AND changes.old_value = pairs.old_value AND changes.new_value = pairs.new_value
         AND changes.observed_at >= $1.starts_at AND changes.observed_at < $1.ends_at)
    FROM inboxes
    CROSS JOIN pairs
    CROSS JOIN $1
  ),
  computed_moves AS (
    SELECT day, inbox_id, field, STATUS_OF(old_value) AS old_value, STATUS_OF(new_value) AS new_value,
      sum(n) AS moves
    FROM counted_moves
    GROUP BY day, inbox_id, field, STATUS_OF(old_value), STATUS_OF(new_value)
  )
