CREATE VIEW assignments AS
WITH
  turns AS (
    SELECT inbox_id, conversation_id, assignee_id, from_at, is_lower_bound,
      -- Of the assigned times the one before, whether or not nobody had it in between.
      lag(assignee_id) OVER (PARTITION BY inbox_id, conversation_id, (assignee_id IS NULL) ORDER BY from_at) AS assignee_before
    FROM assignee_intervals
  ),
  counted AS (
    SELECT inbox_id, conversation_id, min(from_at) AS begun_at,
      min(CASE WHEN assignee_id IS NOT NULL THEN from_at END) AS first_assigned_at,
      CAST(sum(CASE WHEN assignee_id <> assignee_before THEN 1 ELSE 0 END) AS INTEGER) AS reassignments,
      CAST(count(DISTINCT assignee_id) AS INTEGER) AS distinct_assignees,
      max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) = 1 AS is_lower_bound
    FROM turns
    GROUP BY inbox_id, conversation_id
  )
SELECT inbox_id, conversation_id, first_assigned_at,
  -- Assigned when it was first seen: how long it had waited before nobody knows.
  CASE WHEN is_lower_bound AND first_assigned_at = begun_at THEN NULL
    ELSE MILLISECONDS_BETWEEN(begun_at, first_assigned_at) / 1000 END AS seconds_to_first,
  reassignments, distinct_assignees, is_lower_bound
FROM counted
