CREATE VIEW backlog_now AS
WITH counted AS (
  SELECT inbox_id, MEANING_OF(status) AS meaning, count(*) AS conversations,
    sum(CASE WHEN assignee_id IS NULL THEN 1 ELSE 0 END) AS unassigned
  FROM conversations WHERE deleted_at IS NULL GROUP BY inbox_id, conversations.status
)
SELECT inboxes.id AS inbox_id, inboxes.display_name AS inbox,
  CAST(coalesce(sum(
    CASE WHEN counted.meaning = 'open' THEN counted.conversations END), 0) AS INTEGER) AS open,
  CAST(coalesce(sum(
    CASE WHEN counted.meaning = 'waiting' THEN counted.conversations END), 0) AS INTEGER) AS pending,
  CAST(coalesce(sum(
    CASE WHEN counted.meaning = 'final' THEN counted.conversations END), 0) AS INTEGER) AS closed,
  CAST(coalesce(sum(
    CASE WHEN counted.meaning = 'other' THEN counted.conversations END), 0)
    AS INTEGER) AS other,
  CAST(coalesce(sum(
    CASE WHEN counted.meaning <> 'final' THEN counted.unassigned END), 0) AS INTEGER) AS unassigned
FROM inboxes
LEFT JOIN counted ON counted.inbox_id = inboxes.id
WHERE inboxes.deleted_at IS NULL
GROUP BY inboxes.id, inboxes.display_name
