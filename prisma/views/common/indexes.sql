-- What makes the views fast. They are made once and stay when the views are replaced: to change one, give it another name and drop the old one here.

-- The life of each conversation, in order.
CREATE INDEX IF NOT EXISTS changes_lives ON changes (list, inbox_id, item_id, id, field, observed_at, old_value, new_value)
WHERE field IN ('assignee_id', 'presence', 'status');

-- What happened in an inbox from one instant to another.
CREATE INDEX IF NOT EXISTS changes_days ON changes (list, field, inbox_id, observed_at, old_value, new_value, item_id)
WHERE field IN ('assignee_id', 'presence', 'status');
