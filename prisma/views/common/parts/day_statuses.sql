-- How many more intervals of each status began than ended on each of the days $1; needs the part `statuses`.
  computed_statuses AS (
    SELECT $1.day, statuses.inbox_id, statuses.status,
      (SELECT count(*) FROM status_spans AS begun
       WHERE begun.inbox_id = statuses.inbox_id AND begun.status = statuses.status
         AND begun.from_at >= $1.starts_at AND begun.from_at < $1.ends_at)
      - (SELECT count(*) FROM status_spans AS ended
         WHERE ended.inbox_id = statuses.inbox_id AND ended.status = statuses.status
           AND ended.to_at >= $1.starts_at AND ended.to_at < $1.ends_at) AS difference
    FROM statuses
    CROSS JOIN $1
    WHERE statuses.status IS NOT NULL
  )
