-- Adds up `events` (inbox_id, $1, at, n1 to n4) day by day: n1 and n2 are changes of a count, n3 and n4 are
-- numbers of the day. Needs the part `known`. A row of `running` lasts until the next day with an event.
  dated AS (
    SELECT events.*, (SELECT days.day FROM report_days AS days
      WHERE days.starts_at <= events.at AND days.starts_at <= NOW()
      ORDER BY days.starts_at DESC LIMIT 1) AS day
    FROM events
  ),
  added AS (
    SELECT inbox_id, $1, day, sum(n1) AS n1, sum(n2) AS n2, sum(n3) AS n3, sum(n4) AS n4
    FROM dated GROUP BY inbox_id, $1, day
  ),
  running AS (
    SELECT inbox_id, $1, day, n3, n4,
      sum(n1) OVER (PARTITION BY inbox_id, $1 ORDER BY day) AS total1,
      sum(n2) OVER (PARTITION BY inbox_id, $1 ORDER BY day) AS total2,
      coalesce(lead(day) OVER (PARTITION BY inbox_id, $1 ORDER BY day), '9999-12-31') AS next_day
    FROM added
  ),
  daily AS (
    SELECT running.inbox_id, running.$1, days.day, running.total1, running.total2,
      CASE WHEN days.day = running.day THEN running.n3 ELSE 0 END AS n3,
      CASE WHEN days.day = running.day THEN running.n4 ELSE 0 END AS n4
    FROM running
    JOIN known ON known.inbox_id = running.inbox_id
    JOIN report_days AS days ON days.day >= running.day AND days.day < running.next_day
      AND days.starts_at <= NOW() AND days.ends_at > known.since
  )
