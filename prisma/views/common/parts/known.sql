-- Since when each inbox's conversations are known. Not from `sweeps`: a set clock shifts the newest of them. If
-- the clock was ahead during the first sweep, and has not caught up since, they are known today.
  known AS MATERIALIZED (
    SELECT id AS inbox_id,
      CASE WHEN known_since <= NOW() THEN known_since
        ELSE (SELECT max(starts_at) FROM report_days WHERE starts_at <= NOW()) END AS since
    FROM inboxes WHERE known_since IS NOT NULL
  )
