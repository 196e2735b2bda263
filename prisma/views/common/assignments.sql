CREATE VIEW assignments AS
-- Window functions instead of GROUP BY: only through them, and only if all have the same partition, SQLite
-- passes a condition on one conversation down to the tables.
WITH
  turns AS (
    SELECT inbox_id, conversation_id, assignee_id, from_at, to_at, is_lower_bound,
      -- The previous assignee, unassigned times skipped.
      lag(assignee_id) OVER (
        PARTITION BY inbox_id, conversation_id ORDER BY (assignee_id IS NULL), from_at, id)
        AS assignee_before,
      -- The previous interval in the order of assignees, to count distinct ones.
      lag(assignee_id) OVER (
        PARTITION BY inbox_id, conversation_id ORDER BY assignee_id, from_at, id) AS neighbour,
      min(from_at) OVER life AS begun_at,
      min(CASE WHEN assignee_id IS NOT NULL THEN from_at END) OVER life AS first_assigned_at,
      max(CASE WHEN assignee_id IS NOT NULL THEN from_at END) OVER life AS last_assigned_at
    FROM assignee_spans
    WINDOW life AS (PARTITION BY inbox_id, conversation_id)
  ),
  counted AS (
    SELECT inbox_id, conversation_id, begun_at, first_assigned_at, last_assigned_at,
      max(CASE WHEN from_at = first_assigned_at THEN assignee_id END) OVER life AS first_assignee_id,
      max(CASE WHEN from_at = last_assigned_at THEN assignee_id END) OVER life AS last_assignee_id,
      -- The times before, without those in which it was gone.
      sum(CASE WHEN from_at < first_assigned_at THEN MILLISECONDS_BETWEEN(from_at, to_at) ELSE 0 END)
        OVER life AS waited_ms,
      sum(CASE WHEN assignee_id <> assignee_before THEN 1 ELSE 0 END) OVER life AS reassignments,
      sum(CASE WHEN assignee_id IS NOT NULL AND (neighbour IS NULL OR neighbour <> assignee_id)
          THEN 1 ELSE 0 END) OVER life AS assignees,
      max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) OVER life AS bound,
      row_number() OVER life AS nth
    FROM turns
    WINDOW life AS (PARTITION BY inbox_id, conversation_id)
  ),
  names AS (
    SELECT inbox_id, id, NAME_OF(inbox_users) AS name FROM inbox_users
  )
SELECT counted.inbox_id, counted.conversation_id, counted.first_assigned_at,
  -- Null if it was already assigned when first seen: the wait before that is unknown.
  CASE WHEN bound = 1 AND first_assigned_at = begun_at OR first_assigned_at IS NULL THEN NULL
    ELSE CAST(waited_ms AS BIGINT) / 1000 END AS seconds_to_first,
  CAST(reassignments AS INTEGER) AS reassignments, CAST(assignees AS INTEGER) AS distinct_assignees,
  bound = 1 AS is_lower_bound, counted.first_assignee_id, firsts.name AS first_assignee,
  counted.last_assigned_at, counted.last_assignee_id, lasts.name AS last_assignee
FROM counted
LEFT JOIN names AS firsts ON firsts.inbox_id = counted.inbox_id AND firsts.id = counted.first_assignee_id
LEFT JOIN names AS lasts ON lasts.inbox_id = counted.inbox_id AND lasts.id = counted.last_assignee_id
WHERE nth = 1
