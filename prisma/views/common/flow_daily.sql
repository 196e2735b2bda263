CREATE VIEW flow_daily AS
WITH
  known AS (
    SELECT inbox_id, min(finished_at) AS since FROM sweeps
    WHERE list = 'conversations' AND state = 'complete' AND inbox_id IS NOT NULL GROUP BY inbox_id
  ),
  -- An inbox that goes takes its conversations along without changes of their own, and brings them back: as many as are there now
  -- (or went with it), less what came since, and what went.
  swept AS (
    SELECT seen.item_id AS inbox_id, seen.observed_at, seen.new_value,
      (SELECT count(*) FROM inboxes JOIN conversations ON conversations.inbox_id = inboxes.id
       WHERE inboxes.id = seen.item_id AND (conversations.deleted_at IS NULL OR conversations.deleted_at = inboxes.deleted_at))
      - (SELECT coalesce(sum(CASE WHEN changes.new_value = 'present' THEN 1 ELSE -1 END), 0) FROM changes
         WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'presence'
           AND changes.inbox_id = seen.item_id AND changes.observed_at > seen.observed_at) AS n
    FROM changes AS seen
    WHERE seen.list = 'inboxes' AND seen.inbox_id IS NULL AND seen.field IN ('assignee_id', 'presence', 'status') AND seen.field = 'presence'
      AND (seen.new_value = 'missing' OR EXISTS (
        SELECT 1 FROM changes AS gone WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = seen.item_id
          AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < seen.id))
  ),
  counted AS (
    SELECT days.day, days.starts_at, days.ends_at, known.inbox_id,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'presence'
         AND changes.inbox_id = known.inbox_id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
         AND changes.new_value = 'present')
      + (SELECT coalesce(sum(swept.n), 0) FROM swept WHERE swept.inbox_id = known.inbox_id AND swept.new_value = 'present'
         AND swept.observed_at >= days.starts_at AND swept.observed_at < days.ends_at) AS appeared,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'status'
         AND changes.inbox_id = known.inbox_id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
         AND STATUS_OF(changes.new_value) = 'closed' AND STATUS_OF(changes.old_value) <> 'closed') AS closed,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'status'
         AND changes.inbox_id = known.inbox_id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
         AND STATUS_OF(changes.old_value) = 'closed' AND STATUS_OF(changes.new_value) <> 'closed') AS reopened,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'presence'
         AND changes.inbox_id = known.inbox_id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
         AND changes.new_value = 'missing')
      + (SELECT coalesce(sum(swept.n), 0) FROM swept WHERE swept.inbox_id = known.inbox_id AND swept.new_value = 'missing'
         AND swept.observed_at >= days.starts_at AND swept.observed_at < days.ends_at) AS removed
    FROM known
    JOIN report_days AS days ON days.ends_at > known.since AND days.starts_at <= NOW()
  )
SELECT day, inbox_id, CAST(appeared AS INTEGER) AS appeared, CAST(closed AS INTEGER) AS closed,
  CAST(reopened AS INTEGER) AS reopened, CAST(removed AS INTEGER) AS removed
FROM counted
