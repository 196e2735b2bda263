CREATE VIEW reopens AS
SELECT inbox_id, item_id AS conversation_id,
  CAST(sum(CASE WHEN STATUS_OF(new_value) = 'closed' THEN 1 ELSE 0 END) AS INTEGER) AS closes,
  CAST(sum(CASE WHEN STATUS_OF(old_value) = 'closed' THEN 1 ELSE 0 END) AS INTEGER) AS reopens,
  max(CASE WHEN STATUS_OF(old_value) = 'closed' THEN observed_at END) AS last_reopened_at
FROM changes
WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status') AND field = 'status'
  AND STATUS_OF(old_value) <> STATUS_OF(new_value)
  AND 'closed' IN (STATUS_OF(old_value), STATUS_OF(new_value))
GROUP BY inbox_id, item_id
