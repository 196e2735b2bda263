-- What each status means to FINAL_STATUSES and WAITING_STATUSES; needs the part `statuses`.
  meanings AS MATERIALIZED (
    SELECT DISTINCT status, MEANING_OF(status) AS meaning
    FROM statuses WHERE status IS NOT NULL
  )
