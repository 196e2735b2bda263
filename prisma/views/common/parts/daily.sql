-- Adds up `events` (inbox_id, $1, at, n1 to n4) day by day: n1 and n2 change a count, n3 and n4 count on their
-- day. Needs the part `known`.
  dated AS (
    SELECT events.*, (SELECT days.day FROM report_days AS days
      WHERE days.starts_at <= events.at AND days.starts_at <= NOW()
      ORDER BY days.starts_at DESC LIMIT 1) AS day
    FROM events
  ),
  eventful AS (
    SELECT inbox_id, $1, day, sum(n1) AS n1, sum(n2) AS n2, sum(n3) AS n3, sum(n4) AS n4
    FROM dated GROUP BY inbox_id, $1, day
  ),
  begun AS (SELECT inbox_id, $1, min(day) AS first_day FROM eventful GROUP BY inbox_id, $1),
  -- A row of zeros for every day from the first event on. A join of `eventful` with all days would take
  -- PostgreSQL minutes: it compares each day with each.
  filled AS (
    SELECT inbox_id, $1, day, n1, n2, n3, n4 FROM eventful
    UNION ALL
    SELECT begun.inbox_id, begun.$1, days.day, 0, 0, 0, 0
    FROM begun
    JOIN report_days AS days ON days.day >= begun.first_day AND days.starts_at <= NOW()
  ),
  added AS (
    SELECT inbox_id, $1, day, sum(n1) AS n1, sum(n2) AS n2, sum(n3) AS n3, sum(n4) AS n4
    FROM filled GROUP BY inbox_id, $1, day
  ),
  running AS (
    SELECT inbox_id, $1, day, n3, n4,
      sum(n1) OVER (PARTITION BY inbox_id, $1 ORDER BY day) AS total1,
      sum(n2) OVER (PARTITION BY inbox_id, $1 ORDER BY day) AS total2
    FROM added
  ),
  daily AS (
    SELECT running.* FROM running
    JOIN known ON known.inbox_id = running.inbox_id
    JOIN report_days AS days ON days.day = running.day AND days.ends_at > known.since
  )
