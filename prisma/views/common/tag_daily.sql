CREATE VIEW tag_daily AS
WITH RECURSIVE
  PART(statuses),
  PART(meanings),
  PART(days),
  PART(unstored),
  PART(known),
  PART(day_owners, unstored, tag_spans, tag_id),
  PART(day_taggings, unstored),
  PART(summed, carried, day_tags, computed_owners),
  PART(summed, tagged, day_taggings, computed_taggings),
  dated AS (
    SELECT inbox_id, tag_id, day, CASE WHEN edge = 'lost' THEN -taggings ELSE taggings END AS n1, 0 AS n2,
      CASE WHEN edge = 'got' THEN taggings ELSE 0 END AS n3, 0 AS n4
    FROM tagged
    UNION ALL
    SELECT carried.inbox_id, carried.tag_id, carried.day, 0, carried.difference, 0, 0
    FROM carried
    CROSS JOIN meanings
    WHERE meanings.status = carried.status AND meanings.meaning <> 'final'
  ),
  PART(daily, tag_id)
SELECT daily.day, daily.inbox_id, inboxes.display_name AS inbox, daily.tag_id, tags.name AS tag,
  CAST(daily.total1 AS INTEGER) AS conversations, CAST(daily.total2 AS INTEGER) AS not_closed,
  CAST(daily.n3 AS INTEGER) AS tagged
FROM daily
JOIN inboxes ON inboxes.id = daily.inbox_id
LEFT JOIN inbox_tags AS tags ON tags.inbox_id = daily.inbox_id AND tags.id = daily.tag_id
WHERE daily.total1 <> 0 OR daily.total2 <> 0 OR daily.n3 <> 0
