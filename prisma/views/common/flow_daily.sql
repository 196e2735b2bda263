CREATE VIEW flow_daily AS
WITH RECURSIVE
  PART(days),
  PART(statuses),
  PART(day_moves, uncounted),
  moved AS MATERIALIZED (
    SELECT days.day, stored.inbox_id, stored.field, stored.old_value, stored.new_value, stored.moves AS n
    FROM days
    JOIN day_moves AS stored ON stored.day = days.day
    WHERE days.is_counted
    UNION ALL
    SELECT day, inbox_id, field, old_value, new_value, moves FROM computed_moves
  ),
  turned AS (
    SELECT day, inbox_id,
      sum(CASE WHEN IS_FINAL(new_value) AND NOT IS_FINAL(old_value) THEN n ELSE 0 END) AS closed,
      sum(CASE WHEN IS_FINAL(old_value) AND NOT IS_FINAL(new_value) THEN n ELSE 0 END) AS reopened
    FROM moved WHERE field = 'status' GROUP BY day, inbox_id
  ),
  presences AS (
    SELECT day, inbox_id, sum(CASE WHEN new_value = 'present' THEN n ELSE 0 END) AS appeared,
      sum(CASE WHEN new_value = 'missing' THEN n ELSE 0 END) AS removed
    FROM moved WHERE field = 'presence' GROUP BY day, inbox_id
  ),
  PART(known),
  -- A deleted inbox removes its conversations without writing changes for them, and a restored inbox brings
  -- them back. Their intervals end, or begin, at that instant.
  swept AS (
    SELECT seen.item_id AS inbox_id, seen.observed_at, seen.new_value, statuses.status,
      CASE WHEN seen.new_value = 'missing'
        THEN (SELECT count(*) FROM status_spans AS spans
          WHERE spans.inbox_id = seen.item_id AND spans.status = statuses.status
            AND spans.to_at = seen.observed_at)
        ELSE (SELECT count(*) FROM status_spans AS spans
          WHERE spans.inbox_id = seen.item_id AND spans.status = statuses.status
            AND spans.from_at = seen.observed_at) END AS n
    FROM changes AS seen
    JOIN known ON known.inbox_id = seen.item_id AND known.since <= seen.observed_at
    JOIN statuses ON statuses.inbox_id = seen.item_id AND statuses.status IS NOT NULL
    WHERE seen.list = 'inboxes' AND seen.inbox_id IS NULL AND seen.field = 'presence'
  ),
  -- Each conversation that went, and its status while it was gone: the one that its next change of status
  -- names as the old one, or the present one.
  departed AS MATERIALIZED (
    SELECT gone.inbox_id, gone.item_id, gone.id, gone.observed_at AS gone_at,
      coalesce(
        (SELECT STATUS_OF(later.old_value) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = gone.inbox_id
           AND later.item_id = gone.item_id AND later.id > gone.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status'
         ORDER BY later.id LIMIT 1),
        (SELECT STATUS_OF(conversations.status) FROM conversations
         WHERE conversations.inbox_id = gone.inbox_id AND conversations.id = gone.item_id)) AS status
    FROM inboxes
    CROSS JOIN changes AS gone
    WHERE gone.list = 'conversations' AND gone.field IN ('presence', 'status')
      AND gone.field = 'presence' AND gone.inbox_id = inboxes.id
      AND gone.old_value = 'present' AND gone.new_value = 'missing'
  ),
  -- Those that were not closed, and when they returned. Most were closed: only the others are looked up.
  absences AS MATERIALIZED (
    SELECT gone.inbox_id, gone.gone_at,
      (SELECT back.observed_at FROM changes AS back
       WHERE back.list = 'conversations' AND back.inbox_id = gone.inbox_id
         AND back.item_id = gone.item_id AND back.id > gone.id
         AND back.field IN ('assignee_id', 'presence', 'status') AND back.field = 'presence'
       ORDER BY back.id LIMIT 1) AS back_at
    FROM departed AS gone WHERE NOT IS_FINAL(status)
  ),
  moments AS (
    SELECT inbox_id, gone_at AS at, 1 AS went, 0 AS returned, 0 AS lost, 0 AS back
    FROM absences
    UNION ALL
    SELECT inbox_id, back_at, 0, 1, 0, 0 FROM absences WHERE back_at IS NOT NULL
    UNION ALL
    SELECT inbox_id, observed_at, 0, 0, CASE WHEN new_value = 'missing' THEN n ELSE 0 END,
      CASE WHEN new_value = 'missing' THEN 0 ELSE n END
    FROM swept WHERE NOT IS_FINAL(status)
  ),
  dated AS (
    SELECT day, inbox_id, sum(went) AS went, sum(returned) AS returned, sum(lost) AS lost, sum(back) AS back
    FROM (
      SELECT moments.*, (SELECT days.day FROM report_days AS days
        WHERE days.starts_at <= moments.at AND days.starts_at <= NOW()
        ORDER BY days.starts_at DESC LIMIT 1) AS day
      FROM moments) AS on_days
    GROUP BY day, inbox_id
  ),
  backlog AS (
    SELECT day, inbox_id, sum(conversations) AS n FROM backlog_daily WHERE NOT IS_FINAL(status)
    GROUP BY day, inbox_id
  ),
  counted AS (
    SELECT days.day, known.inbox_id,
      coalesce(presences.appeared, 0)
      + (SELECT coalesce(sum(swept.n), 0) FROM swept
         WHERE swept.inbox_id = known.inbox_id AND swept.new_value = 'present'
         AND swept.observed_at >= days.starts_at AND swept.observed_at < days.ends_at) AS appeared,
      coalesce(presences.removed, 0)
      + (SELECT coalesce(sum(swept.n), 0) FROM swept
         WHERE swept.inbox_id = known.inbox_id AND swept.new_value = 'missing'
         AND swept.observed_at >= days.starts_at AND swept.observed_at < days.ends_at) AS removed,
      -- The first sweep of an inbox ends during its first day: what was open then is the opening backlog. If the
      -- clock was set back during that sweep, it ends before first sights, which are lower bounds.
      CASE WHEN days.starts_at <= known.since THEN (
        SELECT coalesce(sum(
          (SELECT count(*) FROM status_spans AS newer
           WHERE newer.inbox_id = statuses.inbox_id AND newer.status = statuses.status
             AND newer.from_at > known.since AND newer.from_at < days.ends_at AND NOT newer.is_lower_bound)
          - (SELECT count(*) FROM status_spans AS ended
             WHERE ended.inbox_id = statuses.inbox_id AND ended.status = statuses.status
               AND ended.to_at > known.since AND ended.to_at < days.ends_at)), 0)
        FROM statuses
        WHERE statuses.inbox_id = known.inbox_id AND NOT IS_FINAL(statuses.status)) END AS gained_on_first
    FROM known
    JOIN days ON days.ends_at > known.since
    LEFT JOIN presences ON presences.day = days.day AND presences.inbox_id = known.inbox_id
  ),
  joined AS (
    SELECT counted.day, counted.inbox_id, counted.appeared, counted.removed,
      coalesce(turned.closed, 0) AS closed, coalesce(turned.reopened, 0) AS reopened,
      coalesce(dated.went, 0) AS went, coalesce(dated.returned, 0) AS returned,
      coalesce(dated.lost, 0) AS lost, coalesce(dated.back, 0) AS back, coalesce(backlog.n, 0) AS closing,
      CASE WHEN counted.gained_on_first IS NOT NULL THEN coalesce(backlog.n, 0) - counted.gained_on_first
        ELSE lag(coalesce(backlog.n, 0)) OVER (PARTITION BY counted.inbox_id ORDER BY counted.day)
        END AS opening
    FROM counted
    LEFT JOIN turned ON turned.day = counted.day AND turned.inbox_id = counted.inbox_id
    LEFT JOIN dated ON dated.day = counted.day AND dated.inbox_id = counted.inbox_id
    LEFT JOIN backlog ON backlog.day = counted.day AND backlog.inbox_id = counted.inbox_id
  )
SELECT day, inbox_id, CAST(appeared AS INTEGER) AS appeared, CAST(closed AS INTEGER) AS closed,
  CAST(reopened AS INTEGER) AS reopened, CAST(removed AS INTEGER) AS removed,
  CAST(opening AS INTEGER) AS opening_backlog,
  -- `changes` do not say with which status a conversation appeared; the other figures do.
  CAST(closing - opening - reopened - returned - back + closed + went + lost AS INTEGER) AS came_open,
  CAST(returned AS INTEGER) AS returned_open, CAST(went AS INTEGER) AS went_open,
  CAST(back AS INTEGER) AS open_back_with_inbox, CAST(lost AS INTEGER) AS open_lost_with_inbox,
  CAST(closing AS INTEGER) AS closing_backlog
FROM joined
