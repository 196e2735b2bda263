CREATE VIEW tag_daily AS
WITH RECURSIVE
  PART(statuses),
  PART(meanings),
  PART(known),
  -- The times in which a conversation carried a tag and was not closed.
  work AS (
    SELECT tags.inbox_id, tags.tag_id,
      CASE WHEN spans.from_at > tags.from_at THEN spans.from_at ELSE tags.from_at END AS from_at,
      CASE WHEN tags.to_at IS NULL OR spans.to_at < tags.to_at THEN spans.to_at ELSE tags.to_at END AS to_at
    FROM tag_spans AS tags
    JOIN status_spans AS spans ON spans.inbox_id = tags.inbox_id
      AND spans.conversation_id = tags.conversation_id
      AND (tags.to_at IS NULL OR tags.to_at > spans.from_at)
      AND (spans.to_at IS NULL OR spans.to_at > tags.from_at)
    JOIN meanings ON meanings.status = spans.status AND meanings.meaning <> 'final'
  ),
  events AS (
    SELECT inbox_id, tag_id, from_at, to_at, 1 AS n1, 0 AS n2,
      CASE WHEN is_lower_bound THEN 0 ELSE 1 END AS n3, 0 AS n4
    FROM tag_spans
    UNION ALL
    SELECT inbox_id, tag_id, from_at, to_at, 0, 1, 0, 0 FROM work
  ),
  PART(daily, tag_id)
SELECT daily.day, daily.inbox_id, inboxes.display_name AS inbox, daily.tag_id, tags.name AS tag,
  CAST(daily.total1 AS INTEGER) AS conversations, CAST(daily.total2 AS INTEGER) AS not_closed,
  CAST(daily.n3 AS INTEGER) AS tagged
FROM daily
JOIN inboxes ON inboxes.id = daily.inbox_id
LEFT JOIN inbox_tags AS tags ON tags.inbox_id = daily.inbox_id AND tags.id = daily.tag_id
WHERE daily.total1 <> 0 OR daily.total2 <> 0 OR daily.n3 <> 0
