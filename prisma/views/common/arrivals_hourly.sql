CREATE VIEW arrivals_hourly AS
WITH RECURSIVE
  -- A Monday in UTC, from which weeks are counted.
  epoch AS (SELECT '1970-01-05T00:00:00.000+00:00' AS monday),
  PART(known),
  -- A new conversation arrived when its thread began, if that was after the sweep before; else when it was
  -- first seen.
  arrived AS (
    SELECT rows.inbox_id,
      CASE WHEN rows.thread_started_at > spans.from_earliest AND rows.thread_started_at <= rows.first_seen_at
        THEN rows.thread_started_at ELSE rows.first_seen_at END AS at
    FROM status_spans AS spans
    JOIN conversations AS rows ON rows.inbox_id = spans.inbox_id AND rows.id = spans.conversation_id
      AND rows.first_seen_at = spans.from_at
    WHERE NOT spans.is_lower_bound
  ),
  hours AS (
    SELECT arrived.inbox_id,
      (MILLISECONDS_BETWEEN(epoch.monday, arrived.at) / 1000 + offsets.offset_seconds) / 3600 % 168 AS slot
    FROM arrived
    CROSS JOIN epoch
    JOIN report_offsets AS offsets ON offsets.starts_at <= arrived.at AND offsets.ends_at > arrived.at
  ),
  counted AS (SELECT inbox_id, slot, count(*) AS n FROM hours GROUP BY inbox_id, slot),
  weekdays AS (
    SELECT known.inbox_id,
      (MILLISECONDS_BETWEEN(epoch.monday, days.starts_at) / 1000 + offsets.offset_seconds) / 86400 % 7 AS nth
    FROM known
    CROSS JOIN epoch
    JOIN report_days AS days ON days.ends_at > known.since AND days.starts_at <= NOW()
    JOIN report_offsets AS offsets
      ON offsets.starts_at <= days.starts_at AND offsets.ends_at > days.starts_at
  ),
  seen AS (SELECT inbox_id, nth, count(*) AS days FROM weekdays GROUP BY inbox_id, nth),
  slots (slot) AS (SELECT 0 UNION ALL SELECT slot + 1 FROM slots WHERE slot < 167)
SELECT known.inbox_id, inboxes.display_name AS inbox, CAST(slots.slot / 24 + 1 AS INTEGER) AS weekday,
  CAST(slots.slot % 24 AS INTEGER) AS hour, CAST(coalesce(counted.n, 0) AS INTEGER) AS arrivals,
  CAST(coalesce(seen.days, 0) AS INTEGER) AS days
FROM known
JOIN inboxes ON inboxes.id = known.inbox_id
CROSS JOIN slots
LEFT JOIN counted ON counted.inbox_id = known.inbox_id AND counted.slot = slots.slot
LEFT JOIN seen ON seen.inbox_id = known.inbox_id AND seen.nth = slots.slot / 24
