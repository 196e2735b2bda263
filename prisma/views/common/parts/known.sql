-- Since when each inbox's conversations are known. Not from `sweeps`: a set clock shifts the newest of them.
  known AS MATERIALIZED (
    SELECT id AS inbox_id, known_since AS since FROM inboxes WHERE known_since IS NOT NULL
  )
