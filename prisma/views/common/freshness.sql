CREATE VIEW freshness AS
WITH
  lists AS (
    SELECT 'inboxes' AS list, NULL AS inbox_id, '' AS place
    UNION ALL SELECT 'users', id, id FROM inboxes WHERE deleted_at IS NULL
    UNION ALL SELECT 'tags', id, id FROM inboxes WHERE deleted_at IS NULL
    UNION ALL SELECT 'conversations', id, id FROM inboxes WHERE deleted_at IS NULL
  ),
  -- MATERIALIZED and `place`: otherwise SQLite looks through all lists for each list.
  completed AS MATERIALIZED (
    SELECT list, coalesce(inbox_id, '') AS place, finished_at FROM sweeps
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
      -- A list is complete as of its last complete sweep, or of the oldest reading among its pages if that is
      -- later or more than 12 hours earlier: the rule of `mirror/status.ts`.
      CASE WHEN readings.oldest > completed.finished_at
          OR MILLISECONDS_BETWEEN(readings.oldest, completed.finished_at) > 43200000 THEN readings.oldest
        ELSE completed.finished_at END AS complete_as_of
    FROM lists
    LEFT JOIN completed ON completed.list = lists.list AND completed.place = lists.place
    LEFT JOIN readings ON lists.list = 'conversations' AND readings.inbox_id = lists.inbox_id
  ),
  aged AS (
    SELECT dated.*, MILLISECONDS_BETWEEN(dated.complete_as_of, NOW()) AS age_ms,
      -- The pages of a large account are read over several days: each day more is a day of grace.
      CASE WHEN dated.list = 'conversations' THEN coalesce(
        (SELECT CAST(value AS BIGINT) - 1 FROM settings WHERE name = 'cover_days'), 0) * 86400000
        ELSE 0 END AS grace_ms
    FROM dated
  ),
  -- How many slots lie after `complete_as_of` and before now less the grace: in each series, those up to the
  -- one instant without those up to the other.
  counted AS (
    SELECT aged.*,
      (SELECT sum(
          CASE WHEN near.until_ms < 0 THEN 0
            WHEN near.until_ms > near.length_ms THEN near.length_ms / near.step_ms + 1
            ELSE near.until_ms / near.step_ms + 1 END
          - CASE WHEN near.since_ms < 0 THEN 0 ELSE near.since_ms / near.step_ms + 1 END)
        FROM (
          SELECT step_seconds * 1000 AS step_ms,
            MILLISECONDS_BETWEEN(starts_at, ends_at) AS length_ms,
            MILLISECONDS_BETWEEN(starts_at, aged.complete_as_of) AS since_ms,
            MILLISECONDS_BETWEEN(starts_at, NOW()) - aged.grace_ms - 1 AS until_ms
          FROM schedule_slots
          WHERE list = aged.list AND starts_at < NOW() AND ends_at > aged.complete_as_of
        ) AS near) AS slots
    FROM aged
  ),
  -- Each time in the last 24 hours that a conversation was seen to have changed: the change fell between two
  -- sightings. `inbox-mirror status` counts the same windows.
  seen AS (
    SELECT inbox_id, observed_at, max(previously_seen_at) AS before_at
    FROM changes READ_BY(changes_observed_at_idx)
    WHERE observed_at >= SECONDS_AGO(86400) AND observed_at <= NOW() AND list = 'conversations' AND field <> 'presence'
      AND previously_seen_at <= observed_at
    GROUP BY inbox_id, item_id, observed_at
  ),
  windows AS (
    SELECT inbox_id, MILLISECONDS_BETWEEN(before_at, observed_at) AS ms FROM seen
  ),
  ranked AS (
    SELECT inbox_id, ms,
      row_number() OVER (PARTITION BY inbox_id ORDER BY ms) AS place,
      count(*) OVER (PARTITION BY inbox_id) AS n
    FROM windows
  ),
  -- The delay of fewer than ten changes is mostly chance: the rule of `status/delay.ts`.
  delays AS (
    SELECT inbox_id, max(n) AS n,
      max(CASE WHEN n >= 10 AND place = (n + 1) / 2 THEN ms END) AS median_ms,
      max(CASE WHEN n >= 10 AND place = (n * 95 + 99) / 100 THEN ms END) AS p95_ms
    FROM ranked GROUP BY inbox_id
  )
SELECT counted.list, counted.inbox_id, counted.complete_as_of, counted.age_ms / 1000 AS age_seconds,
  -- The rule of `sync/planning/freshness.ts`: fresh until the second slot, and for at least two minutes.
  CASE
    WHEN counted.complete_as_of IS NULL THEN 'never'
    WHEN NOT EXISTS (SELECT 1 FROM schedule_slots WHERE schedule_slots.list = counted.list) THEN 'unknown'
    WHEN counted.slots >= 2 AND counted.age_ms - counted.grace_ms > 120000 THEN 'stale'
    ELSE 'fresh'
  END AS state,
  CASE WHEN counted.list = 'conversations' THEN CAST(coalesce(delays.n, 0) AS INTEGER) END AS changes,
  CAST((delays.median_ms + 500) / 1000 AS INTEGER) AS median_delay_seconds,
  CAST((delays.p95_ms + 500) / 1000 AS INTEGER) AS p95_delay_seconds
FROM counted
LEFT JOIN delays ON counted.list = 'conversations' AND delays.inbox_id = counted.inbox_id
