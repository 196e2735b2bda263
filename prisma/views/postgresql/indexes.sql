-- common/indexes.sql explains these indexes.
DROP INDEX IF EXISTS changes_lives;
DROP INDEX IF EXISTS changes_presence;
DROP INDEX IF EXISTS changes_days;
DROP INDEX IF EXISTS status_spans_begun;

CREATE INDEX IF NOT EXISTS changes_life
ON changes (inbox_id, item_id, id, field, observed_at, old_value, new_value)
WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status');

CREATE INDEX IF NOT EXISTS changes_moves ON changes (field, inbox_id, old_value, new_value, observed_at)
WHERE list = 'conversations' AND field IN ('presence', 'status');

CREATE INDEX IF NOT EXISTS conversations_unsettled
ON conversations (inbox_id, deleted_at, assignee_id, status, id)
WHERE deleted_at IS NOT NULL OR (status IS NULL OR status NOT IN ('close', 'closed'));

CREATE INDEX IF NOT EXISTS report_days_begun ON report_days (starts_at, ends_at, day);
