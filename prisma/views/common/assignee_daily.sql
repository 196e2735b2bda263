CREATE VIEW assignee_daily AS
WITH RECURSIVE
  PART(statuses),
  PART(meanings),
  PART(known),
  -- The times in which a conversation kept its status and had one assignee (an empty text: none). Those in
  -- which it was not closed count in the backlog. A close or a reopening counts for the assignee at that
  -- instant. A return with another status is neither (as in conversation_facts).
  events AS (
    SELECT owners.inbox_id, coalesce(owners.assignee_id, '') AS owner,
      CASE WHEN spans.from_at > owners.from_at THEN spans.from_at ELSE owners.from_at END AS from_at,
      CASE WHEN meanings.meaning = 'final' THEN NULL
        WHEN owners.to_at IS NULL OR spans.to_at < owners.to_at THEN spans.to_at
        ELSE owners.to_at END AS to_at,
      CASE WHEN meanings.meaning = 'final' THEN 0 ELSE 1 END AS n1, 0 AS n2,
      CASE WHEN owners.from_at > spans.from_at THEN 0
        WHEN meanings.meaning = 'final' AND before.meaning <> 'final' THEN 1 ELSE 0 END AS n3,
      CASE WHEN owners.from_at > spans.from_at THEN 0
        WHEN meanings.meaning <> 'final' AND before.meaning = 'final' THEN 1 ELSE 0 END AS n4
    FROM status_spans AS spans
    CROSS JOIN meanings
    LEFT JOIN meanings AS before ON before.status = spans.status_before
    CROSS JOIN assignee_spans AS owners
    WHERE meanings.status = spans.status
      AND (meanings.meaning <> 'final' OR before.meaning <> 'final')
      AND owners.inbox_id = spans.inbox_id AND owners.conversation_id = spans.conversation_id
      AND (owners.to_at IS NULL OR owners.to_at > spans.from_at)
      AND (spans.to_at IS NULL OR spans.to_at > owners.from_at)
      -- Of a time in which it was closed, only the beginning counts.
      AND (meanings.meaning <> 'final' OR owners.from_at <= spans.from_at)
  ),
  PART(daily, owner)
SELECT daily.day, daily.inbox_id, inboxes.display_name AS inbox, nullif(daily.owner, '') AS assignee_id,
  NAME_OF(users) AS assignee, CAST(daily.total1 AS INTEGER) AS backlog, CAST(daily.n3 AS INTEGER) AS closed,
  CAST(daily.n4 AS INTEGER) AS reopened
FROM daily
JOIN inboxes ON inboxes.id = daily.inbox_id
LEFT JOIN inbox_users AS users ON users.inbox_id = daily.inbox_id AND users.id = daily.owner
WHERE daily.total1 <> 0 OR daily.n3 <> 0 OR daily.n4 <> 0
