CREATE VIEW unassigned_age AS
WITH
  picked AS (
    SELECT inbox_id, id, STATUS_OF(status) AS status, first_seen_at, permalink
    FROM conversations
    WHERE deleted_at IS NULL AND assignee_id IS NULL
      AND (status IS NULL OR status NOT IN ('close', 'closed'))
  ),
  PART(since, assignee_id)
SELECT inbox_id, id AS conversation_id, status, since,
  CASE WHEN since > NOW() THEN 0 ELSE MILLISECONDS_BETWEEN(since, NOW()) / 1000 END AS age_seconds,
  is_lower_bound, permalink
FROM begun
