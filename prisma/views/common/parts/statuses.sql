-- The statuses that occurred in each inbox, then a null. There are few among millions of intervals, so each
-- recursion step finds the next one through the index.
  statuses (inbox_id, status) AS (
    SELECT inboxes.id, (SELECT min(spans.status) FROM status_spans AS spans
      WHERE spans.inbox_id = inboxes.id)
    FROM inboxes
    UNION ALL
    SELECT statuses.inbox_id, (SELECT min(spans.status) FROM status_spans AS spans
      WHERE spans.inbox_id = statuses.inbox_id AND spans.status > statuses.status)
    FROM statuses WHERE statuses.status IS NOT NULL
  )
