CREATE VIEW assignee_workload AS
WITH counted AS (
  SELECT inbox_id, assignee_id,
    CAST(sum(CASE WHEN status = 'open' THEN 1 ELSE 0 END) AS INTEGER) AS open,
    CAST(sum(CASE WHEN status = 'pending' THEN 1 ELSE 0 END) AS INTEGER) AS pending
  FROM conversations
  WHERE deleted_at IS NULL AND assignee_id IS NOT NULL AND status IN ('open', 'pending')
  GROUP BY inbox_id, assignee_id
)
SELECT counted.inbox_id, inboxes.display_name AS inbox, counted.assignee_id,
  NAME_OF(users) AS assignee, counted.open, counted.pending
FROM counted
JOIN inboxes ON inboxes.id = counted.inbox_id
LEFT JOIN inbox_users AS users ON users.inbox_id = counted.inbox_id AND users.id = counted.assignee_id
