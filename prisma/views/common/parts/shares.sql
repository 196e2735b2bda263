-- Statistics of `timed` (inbox_id, $1, seconds). Median and 90th percentile by nearest rank: values that occur.
  ranked AS (
    SELECT inbox_id, $1, seconds,
      row_number() OVER (PARTITION BY inbox_id, $1 ORDER BY seconds) AS place,
      count(*) OVER (PARTITION BY inbox_id, $1) AS n
    FROM timed
  ),
  shared AS (
    SELECT inbox_id, $1, CAST(count(*) AS INTEGER) AS conversations,
      CAST(sum(seconds) AS BIGINT) / count(*) AS mean_seconds,
      max(CASE WHEN place = (n + 1) / 2 THEN seconds END) AS median_seconds,
      max(CASE WHEN place = (n * 9 + 9) / 10 THEN seconds END) AS p90_seconds,
      sum(CASE WHEN seconds <= 3600 THEN 1 ELSE 0 END) * CAST(1 AS DOUBLE PRECISION) / count(*) AS within_1h,
      sum(CASE WHEN seconds <= 14400 THEN 1 ELSE 0 END) * CAST(1 AS DOUBLE PRECISION) / count(*) AS within_4h,
      sum(CASE WHEN seconds <= 28800 THEN 1 ELSE 0 END) * CAST(1 AS DOUBLE PRECISION) / count(*) AS within_8h,
      sum(CASE WHEN seconds <= 86400 THEN 1 ELSE 0 END) * CAST(1 AS DOUBLE PRECISION) / count(*) AS within_24h
    FROM ranked GROUP BY inbox_id, $1
  )
