-- The days up to today. Today has no end: changes that were recorded while the clock was ahead have happened,
-- and the counts of the present contain them. A past day is counted if sums of these instants are stored.
  days AS MATERIALIZED (
    SELECT report.day, report.starts_at, report.ends_at > NOW() AS is_today,
      CASE WHEN report.ends_at > NOW() THEN '9999-12-31T00:00:00.000+00:00' ELSE report.ends_at END
        AS ends_at,
      counted.day IS NOT NULL AS is_counted
    FROM report_days AS report
    LEFT JOIN counted_days AS counted ON counted.day = report.day AND counted.starts_at = report.starts_at
      AND counted.ends_at = report.ends_at AND counted.ends_at <= NOW() AND NOT counted.is_partial
    WHERE report.starts_at <= NOW()
  ),
  uncounted AS MATERIALIZED (SELECT day, starts_at, ends_at FROM days WHERE NOT is_counted)
