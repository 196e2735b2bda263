CREATE VIEW assignee_daily AS
WITH RECURSIVE
  PART(statuses),
  PART(meanings),
  PART(known),
  -- The times in which a conversation was not closed and had one assignee. An empty text: it had none.
  work AS (
    SELECT owners.inbox_id, coalesce(owners.assignee_id, '') AS owner,
      CASE WHEN spans.from_at > owners.from_at THEN spans.from_at ELSE owners.from_at END AS from_at,
      CASE WHEN owners.to_at IS NULL OR spans.to_at < owners.to_at THEN spans.to_at ELSE owners.to_at END
        AS to_at
    FROM status_spans AS spans
    CROSS JOIN meanings
    CROSS JOIN assignee_spans AS owners
    WHERE meanings.status = spans.status AND meanings.meaning <> 'final'
      AND owners.inbox_id = spans.inbox_id AND owners.conversation_id = spans.conversation_id
      AND (owners.to_at IS NULL OR owners.to_at > spans.from_at)
      AND (spans.to_at IS NULL OR spans.to_at > owners.from_at)
  ),
  PART(turns),
  events AS (
    SELECT inbox_id, owner, from_at AS at, 1 AS n1, 0 AS n2, 0 AS n3, 0 AS n4 FROM work
    UNION ALL
    SELECT inbox_id, owner, to_at, -1, 0, 0, 0 FROM work WHERE to_at IS NOT NULL
    UNION ALL
    SELECT turns.inbox_id, coalesce(owners.assignee_id, ''), turns.at, 0, 0, turns.closed, 1 - turns.closed
    FROM turns
    JOIN assignee_spans AS owners ON owners.inbox_id = turns.inbox_id
      AND owners.conversation_id = turns.conversation_id AND owners.from_at <= turns.at
      AND (owners.to_at IS NULL OR owners.to_at > turns.at)
  ),
  PART(daily, owner)
SELECT daily.day, daily.inbox_id, inboxes.display_name AS inbox, nullif(daily.owner, '') AS assignee_id,
  NAME_OF(users) AS assignee, CAST(daily.total1 AS INTEGER) AS backlog, CAST(daily.n3 AS INTEGER) AS closed,
  CAST(daily.n4 AS INTEGER) AS reopened
FROM daily
JOIN inboxes ON inboxes.id = daily.inbox_id
LEFT JOIN inbox_users AS users ON users.inbox_id = daily.inbox_id AND users.id = daily.owner
WHERE daily.total1 <> 0 OR daily.n3 <> 0 OR daily.n4 <> 0
