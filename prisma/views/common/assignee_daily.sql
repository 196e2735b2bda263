CREATE VIEW assignee_daily AS
WITH RECURSIVE
  PART(statuses),
  PART(meanings),
  PART(days),
  PART(unstored),
  PART(known),
  PART(day_owners, unstored, assignee_spans, assignee_id),
  PART(day_turns, unstored),
  -- The times in which a conversation was not closed count in the backlog of its assignee (an empty text:
  -- nobody). A close or a reopening counts for the assignee at that instant. A return with another status is
  -- neither (as in conversation_facts).
  PART(summed, owned, day_assignees, computed_owners),
  PART(summed, turned, day_turns, computed_turns),
  dated AS (
    SELECT owned.inbox_id, owned.assignee_id, owned.day, owned.difference AS n1, 0 AS n2, 0 AS n3, 0 AS n4
    FROM owned
    CROSS JOIN meanings
    WHERE meanings.status = owned.status AND meanings.meaning <> 'final'
    UNION ALL
    SELECT turned.inbox_id, turned.assignee_id, turned.day, 0, 0,
      CASE WHEN new.meaning = 'final' THEN turned.turns ELSE 0 END,
      CASE WHEN new.meaning = 'final' THEN 0 ELSE turned.turns END
    FROM turned
    CROSS JOIN meanings AS new
    CROSS JOIN meanings AS old
    WHERE new.status = turned.new_status AND old.status = turned.old_status
      AND (new.meaning = 'final') <> (old.meaning = 'final')
  ),
  PART(daily, assignee_id)
SELECT daily.day, daily.inbox_id, inboxes.display_name AS inbox, nullif(daily.assignee_id, '') AS assignee_id,
  NAME_OF(users) AS assignee, CAST(daily.total1 AS INTEGER) AS backlog, CAST(daily.n3 AS INTEGER) AS closed,
  CAST(daily.n4 AS INTEGER) AS reopened
FROM daily
JOIN inboxes ON inboxes.id = daily.inbox_id
LEFT JOIN inbox_users AS users ON users.inbox_id = daily.inbox_id AND users.id = daily.assignee_id
WHERE daily.total1 <> 0 OR daily.n3 <> 0 OR daily.n4 <> 0
