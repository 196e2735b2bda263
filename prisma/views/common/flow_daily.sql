CREATE VIEW flow_daily AS
WITH RECURSIVE
  PART(moved),
  turned AS (
    SELECT day, inbox_id,
      sum(CASE WHEN new_status = 'closed' AND old_status <> 'closed' THEN n ELSE 0 END) AS closed,
      sum(CASE WHEN old_status = 'closed' AND new_status <> 'closed' THEN n ELSE 0 END) AS reopened
    FROM moved GROUP BY day, inbox_id
  ),
  known AS (
    SELECT inbox_id, min(finished_at) AS since FROM sweeps
    WHERE list = 'conversations' AND state = 'complete' AND inbox_id IS NOT NULL GROUP BY inbox_id
  ),
  -- A deleted inbox removes its conversations without writing changes for them, and a restored inbox brings
  -- them back. Their number at that instant: those that are there now (or were deleted with the inbox),
  -- minus those that appeared since, plus those that were removed since.
  swept AS (
    SELECT seen.item_id AS inbox_id, seen.observed_at, seen.new_value,
      (SELECT count(*) FROM inboxes JOIN conversations ON conversations.inbox_id = inboxes.id
       WHERE inboxes.id = seen.item_id
         AND (conversations.deleted_at IS NULL OR conversations.deleted_at = inboxes.deleted_at))
      - (SELECT coalesce(sum(CASE WHEN changes.new_value = 'present' THEN 1 ELSE -1 END), 0) FROM changes
         WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
           AND changes.field = 'presence'
           AND changes.inbox_id = seen.item_id AND changes.observed_at > seen.observed_at) AS n
    FROM changes AS seen
    WHERE seen.list = 'inboxes' AND seen.inbox_id IS NULL AND seen.field = 'presence'
      AND (seen.new_value = 'missing' OR EXISTS (
        SELECT 1 FROM changes AS gone
        WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = seen.item_id
          AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < seen.id))
  ),
  counted AS (
    SELECT days.day, known.inbox_id,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
         AND changes.field = 'presence' AND changes.inbox_id = known.inbox_id
         AND changes.old_value = 'missing' AND changes.new_value = 'present'
         AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at)
      + (SELECT coalesce(sum(swept.n), 0) FROM swept
         WHERE swept.inbox_id = known.inbox_id AND swept.new_value = 'present'
         AND swept.observed_at >= known.since
         AND swept.observed_at >= days.starts_at AND swept.observed_at < days.ends_at) AS appeared,
      (SELECT count(*) FROM changes
       WHERE changes.list = 'conversations' AND changes.field IN ('presence', 'status')
         AND changes.field = 'presence' AND changes.inbox_id = known.inbox_id
         AND changes.old_value = 'present' AND changes.new_value = 'missing'
         AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at)
      + (SELECT coalesce(sum(swept.n), 0) FROM swept
         WHERE swept.inbox_id = known.inbox_id AND swept.new_value = 'missing'
         AND swept.observed_at >= known.since
         AND swept.observed_at >= days.starts_at AND swept.observed_at < days.ends_at) AS removed
    FROM known
    JOIN report_days AS days ON days.ends_at > known.since AND days.starts_at <= NOW()
  )
SELECT counted.day, counted.inbox_id, CAST(counted.appeared AS INTEGER) AS appeared,
  CAST(coalesce(turned.closed, 0) AS INTEGER) AS closed,
  CAST(coalesce(turned.reopened, 0) AS INTEGER) AS reopened, CAST(counted.removed AS INTEGER) AS removed
FROM counted
LEFT JOIN turned ON turned.day = counted.day AND turned.inbox_id = counted.inbox_id
