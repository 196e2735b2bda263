CREATE VIEW backlog_daily AS
WITH RECURSIVE
  -- Starts from today's counts. An earlier day has today's counts minus all differences after that day.
  PART(statuses),
  PART(days),
  PART(day_statuses, uncounted),
  differences AS MATERIALIZED (
    SELECT days.day, stored.inbox_id, stored.status, stored.difference AS n
    FROM days
    JOIN day_statuses AS stored ON stored.day = days.day
    WHERE days.is_counted
    UNION ALL
    SELECT day, inbox_id, status, difference FROM computed_statuses
  ),
  -- Each live conversation has one interval that lasts. An index counts the conversations in one pass.
  present AS MATERIALIZED (
    SELECT inbox_id, STATUS_OF(status) AS status, sum(n) AS n
    FROM (SELECT inbox_id, status, count(*) AS n FROM conversations WHERE deleted_at IS NULL
      GROUP BY inbox_id, status) AS live
    GROUP BY inbox_id, STATUS_OF(status)
  ),
  PART(known),
  ends AS (
    SELECT days.day, days.is_today, known.inbox_id,
      (SELECT seen.new_value FROM changes AS seen
       WHERE seen.list = 'inboxes' AND seen.inbox_id IS NULL AND seen.item_id = known.inbox_id
         AND seen.field = 'presence' AND seen.observed_at < days.ends_at
       ORDER BY seen.id DESC LIMIT 1) AS presence
    FROM known
    JOIN days ON days.ends_at > known.since
  ),
  counted AS (
    SELECT ends.day, ends.inbox_id, ends.presence, statuses.status,
      coalesce(present.n, 0) - CASE WHEN ends.is_today THEN 0 ELSE coalesce(sum(differences.n) OVER (
        PARTITION BY ends.inbox_id, statuses.status ORDER BY ends.day DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) END AS n
    FROM ends
    JOIN statuses ON statuses.inbox_id = ends.inbox_id AND statuses.status IS NOT NULL
    LEFT JOIN present ON present.inbox_id = statuses.inbox_id AND present.status = statuses.status
    LEFT JOIN differences ON differences.inbox_id = statuses.inbox_id
      AND differences.status = statuses.status AND differences.day = ends.day
  )
SELECT day, inbox_id, status, CAST(n AS INTEGER) AS conversations, MEANING_OF(status) AS meaning
FROM counted
WHERE presence IS NULL OR presence <> 'missing'
