CREATE VIEW conversation_changes AS
SELECT id, observed_at, previously_seen_at, inbox_id, item_id AS conversation_id, field, old_value, new_value,
  item_values
FROM changes
WHERE list = 'conversations'
