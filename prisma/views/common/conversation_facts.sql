CREATE VIEW conversation_facts AS
-- GROUP BY on the columns of a condition, and no window functions: SQLite passes a condition on one inbox or
-- conversation down to the tables, and needs no sorting.
WITH RECURSIVE
  PART(statuses),
  PART(meanings),
  -- A conversation that returns with another status was neither closed nor reopened by anyone in sight.
  spans AS (
    SELECT spans.inbox_id, spans.conversation_id, spans.from_at, meanings.meaning, spans.is_lower_bound,
      CASE WHEN meanings.meaning = 'final' AND before.meaning <> 'final' THEN spans.from_at END AS closed_at,
      CASE WHEN meanings.meaning <> 'final' AND before.meaning = 'final' THEN spans.from_at END
        AS reopened_at,
      -- An interval that began while the clock was ahead has lasted 0 seconds.
      CASE WHEN spans.to_at IS NOT NULL THEN spans.to_at WHEN spans.from_at > NOW() THEN spans.from_at
        ELSE NOW() END AS until_at
    FROM status_spans AS spans
    CROSS JOIN meanings
    LEFT JOIN meanings AS before ON before.status = spans.status_before
    WHERE meanings.status = spans.status
  ),
  statuses_of AS (
    SELECT inbox_id, conversation_id,
      min(closed_at) AS first_closed_at, max(closed_at) AS last_closed_at, count(closed_at) AS closes,
      max(reopened_at) AS last_reopened_at, count(reopened_at) AS reopens,
      -- Each meaning apart, so that the time of an interval is computed once.
      PART(sums, open),
      PART(sums, waiting),
      PART(sums, other),
      PART(sums, final),
      max(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) AS bound
    FROM spans GROUP BY inbox_id, conversation_id
  ),
  owned AS (
    SELECT inbox_id, conversation_id, assignee_id, from_at,
      CASE WHEN assignee_id IS NULL THEN 'unassigned' END AS meaning,
      CASE WHEN to_at IS NOT NULL THEN to_at WHEN from_at > NOW() THEN from_at ELSE NOW() END AS until_at
    FROM assignee_spans
  ),
  facts AS (
    SELECT statuses_of.*, owners_of.first_assigned_at, owners_of.last_assigned_at, owners_of.unassigned_ms,
      owners_of.unassigned_office_ms, owners_of.first_assignee_id, owners_of.last_assignee_id,
      closers.assignee_id AS closed_by_id
    FROM statuses_of
    PART(owners_of)
    LEFT JOIN assignee_spans AS closers ON closers.inbox_id = statuses_of.inbox_id
      AND closers.conversation_id = statuses_of.conversation_id
      AND closers.from_at <= statuses_of.last_closed_at
      AND (closers.to_at IS NULL OR closers.to_at > statuses_of.last_closed_at)
  ),
  names AS MATERIALIZED (
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
  CAST(open_ms AS BIGINT) / 1000 AS open_seconds,
  CAST(waiting_ms AS BIGINT) / 1000 AS pending_seconds,
  CAST(open_ms + waiting_ms + other_ms AS BIGINT) / 1000 AS not_closed_seconds,
  CAST(unassigned_ms AS BIGINT) / 1000 AS unassigned_seconds,
  CAST(open_ms + waiting_ms + other_ms + final_ms AS BIGINT) / 1000 AS total_seconds,
  CASE WHEN office.is_set THEN CAST(open_office_ms AS BIGINT) / 1000 END AS open_office_seconds,
  CASE WHEN office.is_set THEN CAST(waiting_office_ms AS BIGINT) / 1000 END AS pending_office_seconds,
  CASE WHEN office.is_set THEN CAST(open_office_ms + waiting_office_ms + other_office_ms AS BIGINT) / 1000
    END AS not_closed_office_seconds,
  CASE WHEN office.is_set THEN CAST(unassigned_office_ms AS BIGINT) / 1000 END AS unassigned_office_seconds,
  CASE WHEN office.is_set
    THEN CAST(open_office_ms + waiting_office_ms + other_office_ms + final_office_ms AS BIGINT) / 1000
    END AS total_office_seconds,
  facts.bound = 1 AS is_lower_bound, conversations.permalink,
  MEANING_OF(conversations.status) AS meaning
FROM facts
CROSS JOIN (SELECT EXISTS (SELECT 1 FROM office_hours) AS is_set) AS office
CROSS JOIN inboxes
CROSS JOIN conversations
LEFT JOIN names AS present
  ON present.inbox_id = facts.inbox_id AND present.id = conversations.assignee_id
LEFT JOIN names AS firsts ON firsts.inbox_id = facts.inbox_id AND firsts.id = facts.first_assignee_id
LEFT JOIN names AS lasts ON lasts.inbox_id = facts.inbox_id AND lasts.id = facts.last_assignee_id
LEFT JOIN names AS closers ON closers.inbox_id = facts.inbox_id AND closers.id = facts.closed_by_id
WHERE inboxes.id = facts.inbox_id
  AND conversations.inbox_id = facts.inbox_id AND conversations.id = facts.conversation_id
