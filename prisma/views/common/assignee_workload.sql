CREATE VIEW assignee_workload AS
WITH
  PART(unsettled),
  meant AS (
    SELECT inbox_id, assignee_id, MEANING_OF(status) AS meaning, count(*) AS n FROM unsettled
    WHERE assignee_id IS NOT NULL GROUP BY inbox_id, assignee_id, unsettled.status
  ),
  counted AS (
    SELECT inbox_id, assignee_id,
      CAST(sum(CASE WHEN meaning = 'open' THEN n ELSE 0 END) AS INTEGER) AS open,
      CAST(sum(CASE WHEN meaning = 'waiting' THEN n ELSE 0 END) AS INTEGER) AS pending
    FROM meant WHERE meaning IN ('open', 'waiting') GROUP BY inbox_id, assignee_id
  )
SELECT counted.inbox_id, inboxes.display_name AS inbox, counted.assignee_id,
  NAME_OF(users) AS assignee, counted.open, counted.pending
FROM counted
JOIN inboxes ON inboxes.id = counted.inbox_id
LEFT JOIN inbox_users AS users ON users.inbox_id = counted.inbox_id AND users.id = counted.assignee_id
