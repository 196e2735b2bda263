-- The days up to today. Today has no end: changes that were recorded while the clock was ahead have happened,
-- and the counts of the present contain them.
  days AS MATERIALIZED (
    SELECT day, starts_at, ends_at > NOW() AS is_today,
      CASE WHEN ends_at > NOW() THEN '9999-12-31T00:00:00.000+00:00' ELSE ends_at END AS ends_at
    FROM report_days WHERE starts_at <= NOW()
  )
