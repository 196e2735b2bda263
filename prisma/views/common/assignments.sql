CREATE VIEW assignments AS
-- GROUP BY on the columns of a condition, and no window functions: SQLite passes a condition on one inbox or
-- conversation down to the tables.
WITH
  turns AS (
    SELECT turns.inbox_id, turns.conversation_id, turns.assignee_id, turns.from_at, turns.to_at,
      turns.is_lower_bound,
      -- The previous assignee, unassigned times skipped.
      (SELECT earlier.assignee_id FROM assignee_spans AS earlier
       WHERE earlier.inbox_id = turns.inbox_id AND earlier.conversation_id = turns.conversation_id
         AND earlier.assignee_id IS NOT NULL AND earlier.from_at < turns.from_at
       ORDER BY earlier.from_at DESC LIMIT 1) AS assignee_before
    FROM assignee_spans AS turns
  ),
  counted AS (
    SELECT inbox_id, conversation_id, min(from_at) AS begun_at,
      min(CASE WHEN assignee_id IS NOT NULL THEN from_at END) AS first_assigned_at,
      max(CASE WHEN assignee_id IS NOT NULL THEN from_at END) AS last_assigned_at,
      -- The times before the first assignee, without those in which it was gone.
      sum(CASE WHEN assignee_id IS NULL AND to_at IS NOT NULL AND assignee_before IS NULL
          THEN MILLISECONDS_BETWEEN(from_at, to_at) ELSE 0 END) AS waited_ms,
      sum(CASE WHEN assignee_id <> assignee_before THEN 1 ELSE 0 END) AS reassignments,
      count(DISTINCT assignee_id) AS assignees,
      max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) AS bound
    FROM turns GROUP BY inbox_id, conversation_id
  ),
  owners AS (
    SELECT counted.*, firsts.assignee_id AS first_assignee_id, lasts.assignee_id AS last_assignee_id
    FROM counted
    -- Intervals do not overlap: each of these finds one at most.
    LEFT JOIN assignee_spans AS firsts ON firsts.inbox_id = counted.inbox_id
      AND firsts.conversation_id = counted.conversation_id AND firsts.from_at = counted.first_assigned_at
    LEFT JOIN assignee_spans AS lasts ON lasts.inbox_id = counted.inbox_id
      AND lasts.conversation_id = counted.conversation_id AND lasts.from_at = counted.last_assigned_at
  ),
  names AS MATERIALIZED (
    SELECT inbox_id, id, NAME_OF(inbox_users) AS name FROM inbox_users
  )
SELECT owners.inbox_id, owners.conversation_id, owners.first_assigned_at,
  -- Null if it was already assigned when first seen: the wait before that is unknown.
  CASE WHEN bound = 1 AND first_assigned_at = begun_at OR first_assigned_at IS NULL THEN NULL
    ELSE CAST(waited_ms AS BIGINT) / 1000 END AS seconds_to_first,
  CAST(reassignments AS INTEGER) AS reassignments, CAST(assignees AS INTEGER) AS distinct_assignees,
  bound = 1 AS is_lower_bound, owners.first_assignee_id, firsts.name AS first_assignee,
  owners.last_assigned_at, owners.last_assignee_id, lasts.name AS last_assignee
FROM owners
LEFT JOIN names AS firsts ON firsts.inbox_id = owners.inbox_id AND firsts.id = owners.first_assignee_id
LEFT JOIN names AS lasts ON lasts.inbox_id = owners.inbox_id AND lasts.id = owners.last_assignee_id
