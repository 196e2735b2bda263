-- Adds up `dated` (inbox_id, $1, day, n1 to n4) day by day: n1 and n2 are differences of a count, n3 and n4
-- numbers of the day. Needs the part `known`. CROSS JOIN keeps its order on SQLite.
  -- A row lasts until the next day with an event.
  added AS (
    SELECT inbox_id, $1, day, sum(n1) AS n1, sum(n2) AS n2, sum(n3) AS n3, sum(n4) AS n4
    FROM dated GROUP BY inbox_id, $1, day
  ),
  running AS (
    SELECT added.inbox_id, added.$1, added.day, known.since, added.n3, added.n4,
      sum(added.n1) OVER life AS total1, sum(added.n2) OVER life AS total2,
      coalesce(lead(added.day) OVER life, '9999-12-31') AS next_day
    FROM added
    JOIN known ON known.inbox_id = added.inbox_id
    WINDOW life AS (PARTITION BY added.inbox_id, added.$1 ORDER BY added.day)
  ),
  daily AS (
    SELECT running.inbox_id, running.$1, days.day, running.total1, running.total2,
      CASE WHEN days.day = running.day THEN running.n3 ELSE 0 END AS n3,
      CASE WHEN days.day = running.day THEN running.n4 ELSE 0 END AS n4
    FROM running
    CROSS JOIN report_days AS days
    WHERE days.day >= running.day AND days.day < running.next_day
      AND days.starts_at <= NOW() AND days.ends_at > running.since
      AND (running.total1 <> 0 OR running.total2 <> 0 OR running.n3 <> 0 OR running.n4 <> 0)
  )
