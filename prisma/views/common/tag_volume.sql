CREATE VIEW tag_volume AS
WITH
  -- Few conversations are deleted or not closed. It is faster to count all links and correct the counts for
  -- those few than to read the conversation of each link.
  links AS (SELECT inbox_id, tag_id, count(*) AS n FROM conversation_tags GROUP BY inbox_id, tag_id),
  PART(unsettled),
  gone AS (SELECT inbox_id, id FROM conversations WHERE deleted_at IS NOT NULL),
  few AS (
    SELECT inbox_id, id, 1 AS gone, 0 AS not_closed FROM gone
    UNION ALL SELECT inbox_id, id, 0, 1 FROM unsettled
  ),
  special AS (
    SELECT tags.inbox_id, tags.tag_id, sum(few.gone) AS gone, sum(few.not_closed) AS not_closed
    PART(tags_of_few)
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
