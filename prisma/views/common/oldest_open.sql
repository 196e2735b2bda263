CREATE VIEW oldest_open AS
WITH
  PART(unsettled),
  picked AS (SELECT * FROM unsettled),
  PART(since, presence),
  -- The return of an inbox changes no content of its conversations.
  still AS (
    SELECT begun.*, CASE WHEN changed_at > since THEN changed_at ELSE since END AS still_at FROM begun
  )
SELECT begun.inbox_id, inboxes.display_name AS inbox, begun.id AS conversation_id, begun.status,
  begun.assignee_id, NAME_OF(users) AS assignee, begun.since,
  CASE WHEN begun.since > NOW() THEN 0 ELSE MILLISECONDS_BETWEEN(begun.since, NOW()) / 1000 END
    AS age_seconds,
  begun.is_lower_bound, begun.still_at AS unchanged_since,
  CASE WHEN begun.still_at > NOW() THEN 0 ELSE MILLISECONDS_BETWEEN(begun.still_at, NOW()) / 1000 END
    AS unchanged_seconds,
  begun.permalink
FROM still AS begun
JOIN inboxes ON inboxes.id = begun.inbox_id
LEFT JOIN inbox_users AS users ON users.inbox_id = begun.inbox_id AND users.id = begun.assignee_id
