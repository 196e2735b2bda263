CREATE VIEW freshness AS
WITH
  lists AS (
    SELECT 'inboxes' AS list, NULL AS inbox_id
    UNION ALL SELECT 'users', id FROM inboxes WHERE deleted_at IS NULL
    UNION ALL SELECT 'tags', id FROM inboxes WHERE deleted_at IS NULL
    UNION ALL SELECT 'conversations', id FROM inboxes WHERE deleted_at IS NULL
  ),
  completed AS (
    SELECT list, inbox_id, finished_at FROM sweeps
    WHERE id IN (SELECT max(id) FROM sweeps WHERE state = 'complete' GROUP BY list, inbox_id)
  ),
  readings AS (
    SELECT bookmarks.inbox_id, min(bookmarks.read_at) AS oldest
    FROM bookmarks
    JOIN bookmark_lists ON bookmark_lists.inbox_id = bookmarks.inbox_id AND bookmark_lists.lost_at IS NULL
    GROUP BY bookmarks.inbox_id
  ),
  dated AS (
    SELECT lists.list, lists.inbox_id,
      -- A list is complete as of its last complete sweep, or of the oldest reading among its pages.
      CASE WHEN readings.oldest > completed.finished_at THEN readings.oldest
        ELSE completed.finished_at END AS complete_as_of
    FROM lists
    LEFT JOIN completed
      ON completed.list = lists.list AND coalesce(completed.inbox_id, '') = coalesce(lists.inbox_id, '')
    LEFT JOIN readings ON lists.list = 'conversations' AND readings.inbox_id = lists.inbox_id
  ),
  aged AS (
    SELECT dated.*, MILLISECONDS_BETWEEN(dated.complete_as_of, NOW()) / 1000 AS age_seconds,
      -- The pages of a large account are read over several days: each day more is a day of grace.
      CASE WHEN dated.list = 'conversations' THEN coalesce(
        (SELECT CAST(value AS INTEGER) - 1 FROM settings WHERE name = 'cover_days'), 0) * 86400000
        ELSE 0 END AS grace_ms
    FROM dated
  )
SELECT aged.list, aged.inbox_id, aged.complete_as_of, aged.age_seconds,
  CASE
    WHEN aged.complete_as_of IS NULL THEN 'never'
    WHEN schedules.list IS NULL THEN 'unknown'
    -- Two minutes is the shortest promise.
    WHEN aged.age_seconds <= 120 THEN 'fresh'
    -- Stale: both stored past slots came after the last complete sweep.
    WHEN MILLISECONDS_BETWEEN(aged.complete_as_of, schedules.due_before) > aged.grace_ms THEN 'stale'
    -- Stale: the last stored past slot came after that sweep, and the stored next slot has passed.
    WHEN MILLISECONDS_BETWEEN(aged.complete_as_of, schedules.due_since) > aged.grace_ms
      AND schedules.next_at <= NOW() THEN 'stale'
    -- Stale: the stored next slot has passed, and so has one more after the same interval.
    WHEN schedules.next_at <= NOW()
      AND MILLISECONDS_BETWEEN(schedules.next_at, NOW())
        >= MILLISECONDS_BETWEEN(schedules.due_since, schedules.next_at) + aged.grace_ms THEN 'stale'
    ELSE 'fresh'
  END AS state
FROM aged
LEFT JOIN schedules ON schedules.list = aged.list
