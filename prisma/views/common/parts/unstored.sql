-- The days without stored sums; needs the part `days`. A clock that was ahead can date an interval before the
-- first day.
  unstored AS MATERIALIZED (
    SELECT day, starts_at, ends_at FROM uncounted
    UNION ALL
    SELECT '0001-01-01', '0001-01-01T00:00:00.000+00:00', min(starts_at) FROM days
  )
