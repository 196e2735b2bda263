CREATE VIEW inbox_changes AS
SELECT id, observed_at, previously_seen_at, item_id AS inbox_id, field, old_value, new_value,
  item_values
FROM changes
WHERE list = 'inboxes'
