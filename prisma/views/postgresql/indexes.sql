-- common/indexes.sql explains these indexes. parts/came.sql needs id and item_id: on SQLite changes_moves
-- has them, because every SQLite index contains the id of its rows; here changes_presence has them.
DROP INDEX IF EXISTS changes_lives;
DROP INDEX IF EXISTS changes_days;

CREATE INDEX IF NOT EXISTS changes_life
ON changes (inbox_id, item_id, id, field, observed_at, old_value, new_value)
WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status');

CREATE INDEX IF NOT EXISTS changes_moves ON changes (field, inbox_id, old_value, new_value, observed_at)
WHERE list = 'conversations' AND field IN ('presence', 'status');

-- Appearances and removals in the order of changes_life, so that parts/came.sql can merge the two.
CREATE INDEX IF NOT EXISTS changes_presence ON changes (inbox_id, item_id, id, observed_at, new_value)
WHERE list = 'conversations' AND field = 'presence';

CREATE INDEX IF NOT EXISTS conversations_unsettled
ON conversations (inbox_id, deleted_at, assignee_id, status, id)
WHERE deleted_at IS NOT NULL OR (status IS NULL OR status NOT IN ('close', 'closed'));
