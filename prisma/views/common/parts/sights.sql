  SELECT '$1' AS list, items.inbox_id, items.id AS item_id, items.first_seen_at,
    -- An item that went with its inbox has the inbox's tombstone, and no change.
    CASE (SELECT new_value FROM changes
          WHERE list = '$1' AND inbox_id = items.inbox_id AND item_id = items.id AND field = 'presence'
          ORDER BY id LIMIT 1)
      WHEN 'present' THEN TRUE WHEN 'missing' THEN FALSE
      ELSE items.deleted_at IS NOT NULL
        AND (inboxes.deleted_at IS NULL OR items.deleted_at <> inboxes.deleted_at) END AS is_gone,
    FIRST_VALUES($1) AS item_values
  FROM $2 AS items
  LEFT JOIN inboxes ON inboxes.id = items.inbox_id
  WHERE NOT EXISTS (SELECT 1 FROM changes
    WHERE list = '$1' AND inbox_id = items.inbox_id AND item_id = items.id
      AND field = 'presence' AND new_value = 'present' AND observed_at = items.first_seen_at)
