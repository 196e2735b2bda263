CREATE VIEW handoffs AS
WITH
  turns AS (
    SELECT inbox_id, conversation_id, assignee_id,
      -- The previous assignee, unassigned times skipped.
      lag(assignee_id) OVER (PARTITION BY inbox_id, conversation_id ORDER BY from_at, id) AS before_id
    FROM assignee_spans WHERE assignee_id IS NOT NULL
  ),
  counted AS (
    SELECT inbox_id, before_id, assignee_id, CAST(count(*) AS INTEGER) AS handoffs,
      CAST(count(DISTINCT conversation_id) AS INTEGER) AS conversations
    FROM turns WHERE before_id <> assignee_id
    GROUP BY inbox_id, before_id, assignee_id
  )
SELECT counted.inbox_id, inboxes.display_name AS inbox, counted.before_id AS from_assignee_id,
  NAME_OF(givers) AS from_assignee, counted.assignee_id AS to_assignee_id, NAME_OF(takers) AS to_assignee,
  counted.handoffs, counted.conversations
FROM counted
JOIN inboxes ON inboxes.id = counted.inbox_id
LEFT JOIN inbox_users AS givers ON givers.inbox_id = counted.inbox_id AND givers.id = counted.before_id
LEFT JOIN inbox_users AS takers ON takers.inbox_id = counted.inbox_id AND takers.id = counted.assignee_id
