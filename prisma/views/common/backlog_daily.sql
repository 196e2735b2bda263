CREATE VIEW backlog_daily AS
WITH RECURSIVE
  -- Starts from today's counts. An earlier day has today's counts minus all differences after that day.
  PART(moved),
  PART(came),
  differences AS (
    SELECT day, inbox_id, status, sum(n) AS n FROM (
      SELECT day, inbox_id, new_status AS status, n FROM moved WHERE n <> 0
      UNION ALL SELECT day, inbox_id, old_status, -n FROM moved WHERE n <> 0
      UNION ALL SELECT day, inbox_id, status, n FROM came
    ) AS all_moves
    GROUP BY inbox_id, status, day
  ),
  -- Counts the conversations of a deleted inbox as if it were there; its days are left out below.
  present AS (
    SELECT inbox_id, STATUS_OF(status) AS status, sum(n) AS n FROM (
      SELECT inbox_id, status, count(*) AS n FROM conversations
      WHERE deleted_at IS NULL GROUP BY inbox_id, status
      UNION ALL
      SELECT inboxes.id, conversations.status, 1
      FROM inboxes
      CROSS JOIN conversations
      WHERE inboxes.deleted_at IS NOT NULL AND conversations.inbox_id = inboxes.id
        AND conversations.deleted_at = inboxes.deleted_at
    ) AS as_it_came
    GROUP BY inbox_id, STATUS_OF(status)
  ),
  statuses AS (SELECT inbox_id, status FROM present UNION SELECT inbox_id, status FROM differences),
  known AS (
    SELECT inbox_id, min(finished_at) AS since FROM sweeps
    WHERE list = 'conversations' AND state = 'complete' AND inbox_id IS NOT NULL GROUP BY inbox_id
  ),
  ends AS (
    -- Includes future days, for changes that were recorded while the clock was ahead. Such changes have
    -- happened, so the counts of today contain them.
    SELECT days.day, days.starts_at, days.ends_at > NOW() AS has_all, known.inbox_id,
      (SELECT seen.new_value FROM changes AS seen
       WHERE seen.list = 'inboxes' AND seen.inbox_id IS NULL AND seen.item_id = known.inbox_id
         AND seen.field = 'presence' AND seen.observed_at < days.ends_at
       ORDER BY seen.id DESC LIMIT 1) AS presence
    FROM known
    JOIN report_days AS days ON days.ends_at > known.since
  ),
  counted AS (
    SELECT ends.day, ends.starts_at, ends.inbox_id, ends.presence, statuses.status,
      coalesce(present.n, 0) - CASE WHEN ends.has_all THEN 0 ELSE coalesce(sum(differences.n) OVER (
        PARTITION BY ends.inbox_id, statuses.status ORDER BY ends.day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) END AS n
    FROM ends
    JOIN statuses ON statuses.inbox_id = ends.inbox_id
    LEFT JOIN present ON present.inbox_id = statuses.inbox_id AND present.status = statuses.status
    LEFT JOIN differences ON differences.inbox_id = statuses.inbox_id
      AND differences.status = statuses.status AND differences.day = ends.day
  )
SELECT day, inbox_id, status, CAST(n AS INTEGER) AS conversations
FROM counted
WHERE (presence IS NULL OR presence <> 'missing') AND starts_at <= NOW()
