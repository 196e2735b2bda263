-- The indexes that make the views fast. The program creates them once and keeps them when it replaces the
-- views. To change an index, rename it and drop the old one here.
DROP INDEX IF EXISTS changes_lives;
DROP INDEX IF EXISTS changes_days;
DROP INDEX IF EXISTS status_spans_begun;

-- The history of each conversation, in order.
CREATE INDEX IF NOT EXISTS changes_life
ON changes (inbox_id, item_id, id, field, observed_at, old_value, new_value)
WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status');

-- Counts how often one value became another in an inbox between two instants, without reading the table.
CREATE INDEX IF NOT EXISTS changes_moves
ON changes (field, inbox_id, old_value, new_value, observed_at, item_id)
WHERE list = 'conversations' AND field IN ('presence', 'status');

-- The few conversations that are deleted or not closed.
CREATE INDEX IF NOT EXISTS conversations_unsettled
ON conversations (inbox_id, deleted_at, assignee_id, status, id)
WHERE deleted_at IS NOT NULL OR (status IS NULL OR status NOT IN ('close', 'closed'));

-- The live conversations in the order of their ids: what a page should hold.
CREATE INDEX IF NOT EXISTS conversations_order
ON conversations (inbox_id, length(id), id)
WHERE deleted_at IS NULL;

-- Finds the day of an instant.
CREATE INDEX IF NOT EXISTS report_days_begun ON report_days (starts_at, ends_at, day);
