  -- The intervals in which the field $1 of a conversation kept one value. $2 is the other field that has
  -- intervals. $3 maps values that count as equal to one value.
  -- This defines the stored intervals (docs/decisions/0021): mirror/history/intervals/write.ts writes what it
  -- would return, and check.ts beside it compares them.

  -- After a clock was set back, a change counts from the earliest of its instant and those of the changes after
  -- it: at each instant, what the last of the changes until then says.
  arrivals AS (
    SELECT changes.item_id AS inbox_id, changes.id, changes.new_value,
      min(changes.observed_at) OVER (PARTITION BY changes.item_id ORDER BY changes.id DESC) AS at
    FROM inboxes CROSS JOIN changes
    WHERE changes.list = 'inboxes' AND changes.inbox_id IS NULL AND changes.item_id = inboxes.id
      AND changes.field = 'presence'
  ),
  -- The times in which each inbox was present. The first has no beginning; each further one begins with a
  -- return.
  stays AS (
    SELECT inboxes.id AS inbox_id, NULL AS from_at, NULL AS gone_at,
      (SELECT min(gone.at) FROM arrivals AS gone
       WHERE gone.inbox_id = inboxes.id AND gone.new_value = 'missing') AS to_at
    FROM inboxes
    UNION ALL
    SELECT inbox_id, at, before_at, next_at
    FROM (SELECT arrivals.*, lag(new_value) OVER life AS before, lag(at) OVER life AS before_at,
        lead(at) OVER life AS next_at
      FROM arrivals WINDOW life AS (PARTITION BY inbox_id ORDER BY id)) AS returns
    WHERE new_value = 'present' AND before = 'missing' AND (next_at IS NULL OR next_at > at)
  ),
  lives AS (
    SELECT inbox_id, item_id, id, field, old_value, new_value, observed_at,
      min(observed_at) OVER (PARTITION BY inbox_id, item_id ORDER BY id DESC) AS at
    FROM changes
    WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status')
      AND IN_SCOPE(inbox_id, item_id)
      AND (field = 'presence' OR field = 'status' AND STATUS_OF(old_value) <> STATUS_OF(new_value)
        OR field = 'assignee_id' AND ID_OF(old_value) <> ID_OF(new_value))
  ),
  events AS (
    SELECT inbox_id, item_id, id, field, new_value, observed_at, at, lead(at) OVER life AS next_at,
      lag(observed_at) OVER life AS before_at, lag(observed_at, 2) OVER life AS second_before_at
    FROM lives
    WHERE field <> '$2' AND (field = 'presence' OR $3(old_value) <> $3(new_value))
    WINDOW life AS (PARTITION BY inbox_id, item_id ORDER BY id)
  ),
  own AS (
    -- Intervals that begin with a change or with an appearance. An appearance records no value: the value is
    -- the old value of the next change, or the present value.
    SELECT events.inbox_id, events.item_id, events.id AS change_id, events.field,
      (events.before_at IS NOT NULL AND events.before_at = events.observed_at) AS is_return,
      -- A return with another value writes two changes with one instant; the one before them is the removal.
      CASE WHEN events.before_at = events.observed_at THEN events.second_before_at ELSE events.before_at END
        AS gone_at,
      events.at AS from_at,
      CASE WHEN events.next_at IS NULL
        THEN (SELECT deleted_at FROM conversations
          WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)
        ELSE events.next_at END AS to_at,
      CASE WHEN events.field = '$1' THEN $3(events.new_value) ELSE coalesce(
        (SELECT $3(later.old_value) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = events.inbox_id
           AND later.item_id = events.item_id AND later.id > events.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = '$1'
         ORDER BY later.id LIMIT 1),
        (SELECT $3(conversations.$1) FROM conversations
         WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)) END AS value
    FROM events
    WHERE events.field = '$1' OR events.new_value = 'present'
    UNION ALL
    -- First intervals of conversations from before the first complete sweep: no change records their
    -- appearance.
    SELECT first.inbox_id, first.id, NULL, NULL, FALSE, NULL,
      CASE WHEN begun.at < first.first_seen_at THEN begun.at ELSE first.first_seen_at END,
      coalesce(ended.at, first.deleted_at),
      coalesce(
        (SELECT $3(later.old_value) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = first.inbox_id AND later.item_id = first.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = '$1'
         ORDER BY later.id LIMIT 1),
        $3(first.$1))
    FROM conversations AS first
    LEFT JOIN (SELECT inbox_id, item_id, min(at) AS at FROM lives GROUP BY inbox_id, item_id) AS begun
      ON begun.inbox_id = first.inbox_id AND begun.item_id = first.id
    LEFT JOIN (SELECT inbox_id, item_id, min(at) AS at FROM events GROUP BY inbox_id, item_id) AS ended
      ON ended.inbox_id = first.inbox_id AND ended.item_id = first.id
    WHERE IN_SCOPE(first.inbox_id, first.id) AND NOT EXISTS (
      SELECT 1 FROM changes AS came
      WHERE came.list = 'conversations' AND came.inbox_id = first.inbox_id AND came.item_id = first.id
        AND came.field IN ('assignee_id', 'presence', 'status') AND came.field = 'presence'
        AND came.new_value = 'present'
        -- NOT <> instead of =, so that no database uses an index on the instant: a whole page shares it.
        AND NOT (came.observed_at <> first.first_seen_at))
  ),
  bounded AS (
    SELECT own.inbox_id, own.item_id AS conversation_id, own.change_id, own.value,
      CASE WHEN stays.from_at > own.from_at THEN stays.from_at ELSE own.from_at END AS from_at,
      CASE
        WHEN stays.from_at > own.from_at THEN stays.gone_at
        WHEN own.field = '$1' AND NOT own.is_return
          THEN (SELECT begun.previously_seen_at FROM changes AS begun WHERE begun.id = own.change_id)
        -- A conversation that appeared was missing when the previous complete sweep began, and when it was
        -- last seen to be gone. The later of the two counts.
        WHEN own.change_id IS NOT NULL THEN coalesce(
          (SELECT CASE WHEN sweeps.started_at < own.gone_at THEN own.gone_at ELSE sweeps.started_at END
           FROM changes AS begun
           JOIN sweeps ON sweeps.list = 'conversations' AND sweeps.inbox_id = begun.inbox_id
             AND sweeps.state = 'complete' AND sweeps.id < begun.sweep_id
           WHERE begun.id = own.change_id ORDER BY sweeps.id DESC LIMIT 1),
          own.gone_at)
      END AS from_earliest,
      -- `changes` alone do not tell from_earliest: housekeeping deletes sweeps, a set clock shifts them.
      (own.change_id IS NOT NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)
        AND NOT (own.field = '$1' AND NOT own.is_return)) AS by_sweep,
      CASE WHEN own.to_at IS NULL OR stays.to_at < own.to_at THEN stays.to_at ELSE own.to_at END AS to_at,
      (own.change_id IS NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)) AS is_lower_bound
    FROM own
    JOIN stays ON stays.inbox_id = own.inbox_id
      AND (stays.from_at IS NULL OR own.to_at IS NULL OR stays.from_at < own.to_at)
      AND (stays.to_at IS NULL OR stays.to_at > own.from_at)
    -- A return writes several changes with one instant: the empty intervals between them are left out.
    WHERE own.to_at IS NULL OR own.to_at > own.from_at
  ),
  intervals AS (
    SELECT inbox_id, conversation_id, change_id, value, from_at,
      -- The sighting before can be later if the clock was set back between the two.
      CASE WHEN from_earliest > from_at THEN from_at ELSE from_earliest END AS from_earliest,
      by_sweep, to_at, is_lower_bound
    FROM bounded
  )
