CREATE VIEW reads AS
WITH
  complete AS (
    SELECT id, list, inbox_id, started_at, finished_at, items, inserted + changed AS found,
      lag(finished_at) OVER (PARTITION BY list, inbox_id ORDER BY id) AS before_at
    FROM sweeps WHERE state = 'complete'
  )
SELECT complete.id AS sweep_id, complete.list, complete.inbox_id, inboxes.display_name AS inbox,
  complete.started_at, complete.finished_at, complete.items,
  CASE
    -- Housekeeping keeps the sweep before each one of the last 30 days, and before each one that found
    -- conversations. Before any other one, it may have deleted sweeps.
    WHEN complete.finished_at < SECONDS_AGO(2592000)
      AND NOT (complete.list = 'conversations' AND complete.found > 0) THEN NULL
    WHEN complete.before_at > complete.finished_at THEN 0
    ELSE MILLISECONDS_BETWEEN(complete.before_at, complete.finished_at) / 1000
  END AS gap_seconds
FROM complete
LEFT JOIN inboxes ON inboxes.id = complete.inbox_id
