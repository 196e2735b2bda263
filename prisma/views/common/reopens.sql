CREATE VIEW reopens AS
WITH
  turns AS (
    SELECT inbox_id, item_id, observed_at, IS_FINAL(old_value) AS was_final, IS_FINAL(new_value) AS is_final
    FROM changes
    WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status') AND field = 'status'
  )
SELECT inbox_id, item_id AS conversation_id,
  CAST(sum(CASE WHEN is_final THEN 1 ELSE 0 END) AS INTEGER) AS closes,
  CAST(sum(CASE WHEN was_final THEN 1 ELSE 0 END) AS INTEGER) AS reopens,
  max(CASE WHEN was_final THEN observed_at END) AS last_reopened_at
FROM turns
WHERE was_final <> is_final
GROUP BY inbox_id, item_id
