CREATE VIEW unassigned_age AS
WITH
  PART(unsettled),
  picked AS (SELECT * FROM unsettled WHERE assignee_id IS NULL),
  PART(since, assignee_id)
SELECT inbox_id, id AS conversation_id, status, since,
  CASE WHEN since > NOW() THEN 0 ELSE MILLISECONDS_BETWEEN(since, NOW()) / 1000 END AS age_seconds,
  is_lower_bound, permalink
FROM begun
