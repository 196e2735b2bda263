CREATE VIEW budget AS
WITH
  limits AS (
    SELECT
      (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'requests_per_day') AS per_day,
      (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'requests_reserved') AS reserved
  ),
  -- 24 hours and 30 seconds: a request may arrive 30 seconds after it was sent.
  ledger AS (
    SELECT CAST(count(*) AS INTEGER) AS sent,
      CAST(coalesce(sum(CASE WHEN status = 429 THEN 1 ELSE 0 END), 0) AS INTEGER) AS throttled
    FROM requests WHERE sent_at > SECONDS_AGO(86430)
  )
SELECT 24 AS window_hours, ledger.sent, limits.per_day AS "limit", limits.reserved,
  CASE WHEN limits.per_day > ledger.sent THEN limits.per_day - ledger.sent
    WHEN limits.per_day IS NOT NULL THEN 0 END AS "left",
  ledger.throttled
FROM ledger CROSS JOIN limits
