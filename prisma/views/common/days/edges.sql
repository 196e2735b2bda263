-- How many intervals begin or end from `$1` to `$2`, the latter excluded.
WITH RECURSIVE
  PART(statuses),
  edges AS (
    SELECT (SELECT count(*) FROM status_spans AS spans
        WHERE spans.inbox_id = statuses.inbox_id AND spans.status = statuses.status
          AND spans.from_at >= $1 AND spans.from_at < $2)
      + (SELECT count(*) FROM status_spans AS spans
        WHERE spans.inbox_id = statuses.inbox_id AND spans.status = statuses.status
          AND spans.to_at >= $1 AND spans.to_at < $2) AS n
    FROM statuses
    WHERE statuses.status IS NOT NULL
    UNION ALL SELECT count(*) FROM assignee_spans WHERE from_at >= $1 AND from_at < $2
    UNION ALL SELECT count(*) FROM assignee_spans WHERE to_at >= $1 AND to_at < $2
    UNION ALL SELECT count(*) FROM tag_spans WHERE from_at >= $1 AND from_at < $2
    UNION ALL SELECT count(*) FROM tag_spans WHERE to_at >= $1 AND to_at < $2
  )
SELECT CAST(coalesce(sum(n), 0) AS INTEGER) AS edges FROM edges
