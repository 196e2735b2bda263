CREATE VIEW conversation_facts AS
-- Window functions instead of GROUP BY, and one stream instead of a join: only so SQLite passes a condition
-- on one inbox or conversation down to the tables.
WITH
  statuses AS (
    SELECT inbox_id, conversation_id, status, from_at, to_at, is_lower_bound,
      lag(status) OVER life AS before_status, lag(to_at) OVER life AS before_to_at
    FROM status_spans
    WINDOW life AS (PARTITION BY inbox_id, conversation_id ORDER BY from_at, id)
  ),
  assignees AS (
    SELECT inbox_id, conversation_id, assignee_id, from_at, to_at,
      min(CASE WHEN assignee_id IS NOT NULL THEN from_at END) OVER life AS first_at,
      max(CASE WHEN assignee_id IS NOT NULL THEN from_at END) OVER life AS last_at
    FROM assignee_spans
    WINDOW life AS (PARTITION BY inbox_id, conversation_id)
  ),
  -- A conversation that returns with another status was neither closed nor reopened by anyone in sight.
  spans AS (
    SELECT inbox_id, conversation_id, status, from_at, to_at, is_lower_bound,
      CASE WHEN before_to_at = from_at AND before_status <> 'closed' AND status = 'closed'
        THEN from_at END AS closed_at,
      CASE WHEN before_to_at = from_at AND before_status = 'closed' AND status <> 'closed'
        THEN from_at END AS reopened_at,
      NULL AS owner_id, NULL AS first_at, NULL AS last_at
    FROM statuses
    UNION ALL
    SELECT inbox_id, conversation_id, NULL, from_at, to_at, NULL, NULL, NULL,
      coalesce(assignee_id, ''), first_at, last_at
    FROM assignees
  ),
  timed AS (
    SELECT inbox_id, conversation_id, status, is_lower_bound, closed_at, reopened_at, owner_id, first_at,
      last_at, from_at,
      -- An interval that began while the clock was ahead has lasted 0 seconds.
      CASE WHEN to_at IS NOT NULL THEN MILLISECONDS_BETWEEN(from_at, to_at)
        WHEN from_at > NOW() THEN 0 ELSE MILLISECONDS_BETWEEN(from_at, NOW()) END AS milliseconds
    FROM spans
  ),
  lives AS (
    SELECT inbox_id, conversation_id,
      row_number() OVER life AS nth,
      min(closed_at) OVER life AS first_closed_at, max(closed_at) OVER life AS last_closed_at,
      count(closed_at) OVER life AS closes,
      max(reopened_at) OVER life AS last_reopened_at, count(reopened_at) OVER life AS reopens,
      sum(CASE WHEN status = 'open' THEN milliseconds ELSE 0 END) OVER life AS open_ms,
      sum(CASE WHEN status = 'pending' THEN milliseconds ELSE 0 END) OVER life AS pending_ms,
      sum(CASE WHEN status <> 'closed' THEN milliseconds ELSE 0 END) OVER life AS unclosed_ms,
      sum(CASE WHEN status IS NOT NULL THEN milliseconds ELSE 0 END) OVER life AS total_ms,
      sum(CASE WHEN owner_id = '' THEN milliseconds ELSE 0 END) OVER life AS unassigned_ms,
      max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) OVER life AS bound,
      max(first_at) OVER life AS first_assigned_at, max(last_at) OVER life AS last_assigned_at,
      max(CASE WHEN owner_id <> '' AND from_at = first_at THEN owner_id END) OVER life AS first_assignee_id,
      max(CASE WHEN owner_id <> '' AND from_at = last_at THEN owner_id END) OVER life AS last_assignee_id
    FROM timed
    WINDOW life AS (PARTITION BY inbox_id, conversation_id)
  ),
  facts AS (
    SELECT lives.*,
      CASE WHEN last_closed_at IS NOT NULL THEN
        (SELECT owners.assignee_id FROM assignee_spans AS owners
         WHERE owners.inbox_id = lives.inbox_id AND owners.conversation_id = lives.conversation_id
           AND owners.from_at <= lives.last_closed_at
           AND (owners.to_at IS NULL OR owners.to_at > lives.last_closed_at)
         ORDER BY owners.from_at DESC, owners.id DESC LIMIT 1) END AS closed_by_id
    FROM lives WHERE nth = 1
  ),
  names AS (
    SELECT inbox_id, id, NAME_OF(inbox_users) AS name FROM inbox_users
  )
SELECT facts.inbox_id, inboxes.display_name AS inbox, facts.conversation_id,
  STATUS_OF(conversations.status) AS status, conversations.assignee_id, present.name AS assignee,
  conversations.first_seen_at, conversations.deleted_at,
  facts.first_assigned_at, facts.first_assignee_id, firsts.name AS first_assignee,
  facts.last_assigned_at, facts.last_assignee_id, lasts.name AS last_assignee,
  facts.first_closed_at, facts.last_closed_at, facts.closed_by_id AS assignee_at_close_id,
  closers.name AS assignee_at_close, CAST(facts.closes AS INTEGER) AS closes,
  facts.last_reopened_at, CAST(facts.reopens AS INTEGER) AS reopens,
  CAST(facts.open_ms AS BIGINT) / 1000 AS open_seconds,
  CAST(facts.pending_ms AS BIGINT) / 1000 AS pending_seconds,
  CAST(facts.unclosed_ms AS BIGINT) / 1000 AS not_closed_seconds,
  CAST(facts.unassigned_ms AS BIGINT) / 1000 AS unassigned_seconds,
  CAST(facts.total_ms AS BIGINT) / 1000 AS total_seconds,
  facts.bound = 1 AS is_lower_bound, conversations.permalink
FROM facts
CROSS JOIN inboxes
CROSS JOIN conversations
LEFT JOIN names AS present
  ON present.inbox_id = facts.inbox_id AND present.id = conversations.assignee_id
LEFT JOIN names AS firsts ON firsts.inbox_id = facts.inbox_id AND firsts.id = facts.first_assignee_id
LEFT JOIN names AS lasts ON lasts.inbox_id = facts.inbox_id AND lasts.id = facts.last_assignee_id
LEFT JOIN names AS closers ON closers.inbox_id = facts.inbox_id AND closers.id = facts.closed_by_id
WHERE inboxes.id = facts.inbox_id
  AND conversations.inbox_id = facts.inbox_id AND conversations.id = facts.conversation_id
