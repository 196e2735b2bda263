CREATE VIEW first_sights AS
-- An item that appeared later has its first sight in a change of that instant.
WITH
  first_inboxes AS (
    SELECT 'inboxes' AS list, CAST(NULL AS TEXT) AS inbox_id, items.id AS item_id, items.first_seen_at,
      CASE (SELECT new_value FROM changes
            WHERE list = 'inboxes' AND inbox_id IS NULL AND item_id = items.id AND field = 'presence'
            ORDER BY id LIMIT 1)
        WHEN 'present' THEN TRUE WHEN 'missing' THEN FALSE
        ELSE items.deleted_at IS NOT NULL END AS is_gone,
      FIRST_VALUES(inboxes) AS item_values
    FROM inboxes AS items
    WHERE NOT EXISTS (SELECT 1 FROM changes
      WHERE list = 'inboxes' AND inbox_id IS NULL AND item_id = items.id
        AND field = 'presence' AND new_value = 'present' AND observed_at = items.first_seen_at)
  )
SELECT list, inbox_id, item_id, first_seen_at, is_gone, item_values FROM first_inboxes
UNION ALL
PART(sights, users, inbox_users)
UNION ALL
PART(sights, tags, inbox_tags)
UNION ALL
PART(sights, conversations, conversations)
