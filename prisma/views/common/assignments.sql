CREATE VIEW assignments AS
-- Window functions instead of GROUP BY: only through them, and only if all have the same partition, SQLite
-- passes a condition on one conversation down to the tables.
WITH
  turns AS (
    SELECT inbox_id, conversation_id, assignee_id, from_at, is_lower_bound,
      -- The previous assignee, unassigned times skipped.
      lag(assignee_id) OVER (
        PARTITION BY inbox_id, conversation_id ORDER BY (assignee_id IS NULL), from_at) AS assignee_before,
      -- The previous interval in the order of assignees, to count distinct ones.
      lag(assignee_id) OVER (
        PARTITION BY inbox_id, conversation_id ORDER BY assignee_id, from_at) AS neighbour
    FROM assignee_intervals
  ),
  counted AS (
    SELECT inbox_id, conversation_id,
      min(from_at) OVER (PARTITION BY inbox_id, conversation_id) AS begun_at,
      min(CASE WHEN assignee_id IS NOT NULL THEN from_at END)
        OVER (PARTITION BY inbox_id, conversation_id) AS first_assigned_at,
      sum(CASE WHEN assignee_id <> assignee_before THEN 1 ELSE 0 END)
        OVER (PARTITION BY inbox_id, conversation_id) AS reassignments,
      sum(CASE WHEN assignee_id IS NOT NULL AND (neighbour IS NULL OR neighbour <> assignee_id)
          THEN 1 ELSE 0 END)
        OVER (PARTITION BY inbox_id, conversation_id) AS assignees,
      max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END)
        OVER (PARTITION BY inbox_id, conversation_id) AS bound,
      row_number() OVER (PARTITION BY inbox_id, conversation_id ORDER BY from_at) AS nth
    FROM turns
  )
SELECT inbox_id, conversation_id, first_assigned_at,
  -- Null if it was already assigned when first seen: the wait before that is unknown.
  CASE WHEN bound = 1 AND first_assigned_at = begun_at THEN NULL
    ELSE MILLISECONDS_BETWEEN(begun_at, first_assigned_at) / 1000 END AS seconds_to_first,
  CAST(reassignments AS INTEGER) AS reassignments, CAST(assignees AS INTEGER) AS distinct_assignees,
  bound = 1 AS is_lower_bound
FROM counted
WHERE nth = 1
