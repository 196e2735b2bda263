-- How often conversations of each assignee went from one status to another on each of the days $1; needs the
-- part `statuses`. The assignee is the one at that instant.
  computed_turns AS (
    SELECT $1.day, spans.inbox_id, ID_OF(owners.assignee_id) AS assignee_id,
      spans.status_before AS old_status, spans.status AS new_status, count(*) AS turns
    FROM statuses
    CROSS JOIN $1
    LOOK_UP(status_spans, spans) spans.inbox_id = statuses.inbox_id AND spans.status = statuses.status
      AND spans.from_at >= $1.starts_at AND spans.from_at < $1.ends_at
      AND spans.status_before <> spans.status AND IN_CHUNK(spans);
    LOOK_UP(assignee_spans, owners) OVERLAPS(spans, owners) AND owners.from_at <= spans.from_at;
    GROUP BY $1.day, spans.inbox_id, ID_OF(owners.assignee_id), spans.status_before, spans.status
  )
