-- Since when each inbox's conversations are known.
  known AS (
    SELECT inbox_id, min(finished_at) AS since FROM sweeps
    WHERE list = 'conversations' AND state = 'complete' AND inbox_id IS NOT NULL GROUP BY inbox_id
  )
