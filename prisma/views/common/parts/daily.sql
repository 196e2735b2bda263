-- Adds up `events` (inbox_id, $1, from_at, to_at, n1 to n4) day by day: n1 and n2 raise a count from
-- `from_at` until `to_at`, n3 and n4 are numbers of the day of `from_at`. Needs the part `known`.
  placed AS MATERIALIZED (
    -- A clock that was ahead can date an interval before the first day.
    SELECT inbox_id, $1, coalesce(DAY_OF(from_at), '0001-01-01') AS from_day,
      CASE WHEN to_at IS NOT NULL THEN coalesce(DAY_OF(to_at), '0001-01-01') END AS to_day, n1, n2, n3, n4
    FROM events
  ),
  -- Many intervals end on the day on which they begin. They change no count, so they are not sorted.
  dated AS (
    SELECT inbox_id, $1, from_day AS day, n1, n2, n3, n4 FROM placed
    WHERE to_day IS NULL OR to_day <> from_day OR n3 <> 0 OR n4 <> 0
    UNION ALL
    SELECT inbox_id, $1, to_day, -n1, -n2, 0, 0 FROM placed
    WHERE to_day IS NOT NULL AND (to_day <> from_day OR n3 <> 0 OR n4 <> 0)
  ),
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
    JOIN report_days AS days ON days.day >= running.day AND days.day < running.next_day
      AND days.starts_at <= NOW() AND days.ends_at > running.since
    WHERE running.total1 <> 0 OR running.total2 <> 0 OR running.n3 <> 0 OR running.n4 <> 0
  )
