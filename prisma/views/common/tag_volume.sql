CREATE VIEW tag_volume AS
WITH
  -- Few conversations are deleted or not closed. It is faster to count all links and correct the counts for
  -- those few than to read the conversation of each link.
  links AS (SELECT inbox_id, tag_id, count(*) AS n FROM conversation_tags GROUP BY inbox_id, tag_id),
  special AS (
    SELECT tags.inbox_id, tags.tag_id,
      sum(CASE WHEN conversations.deleted_at IS NULL THEN 0 ELSE 1 END) AS gone,
      sum(CASE WHEN conversations.deleted_at IS NULL THEN 1 ELSE 0 END) AS not_closed
    FROM conversations
    CROSS JOIN conversation_tags AS tags
    WHERE (conversations.deleted_at IS NOT NULL
        OR (conversations.status IS NULL OR conversations.status NOT IN ('close', 'closed')))
      AND tags.inbox_id = conversations.inbox_id AND tags.conversation_id = conversations.id
    GROUP BY tags.inbox_id, tags.tag_id
  ),
  known AS (
    SELECT inbox_id, id AS tag_id FROM inbox_tags WHERE deleted_at IS NULL
    UNION SELECT inbox_id, tag_id FROM links
  ),
  counted AS (
    SELECT known.inbox_id, known.tag_id,
      CAST(coalesce(links.n, 0) - coalesce(special.gone, 0) AS INTEGER) AS conversations,
      CAST(coalesce(special.not_closed, 0) AS INTEGER) AS not_closed
    FROM known
    LEFT JOIN links ON links.inbox_id = known.inbox_id AND links.tag_id = known.tag_id
    LEFT JOIN special ON special.inbox_id = known.inbox_id AND special.tag_id = known.tag_id
  )
SELECT counted.inbox_id, counted.tag_id, tags.name AS tag, counted.conversations, counted.not_closed
FROM counted
LEFT JOIN inbox_tags AS tags ON tags.inbox_id = counted.inbox_id AND tags.id = counted.tag_id
WHERE counted.conversations > 0 OR tags.id IS NOT NULL AND tags.deleted_at IS NULL
