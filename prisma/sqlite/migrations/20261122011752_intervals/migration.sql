-- CreateTable
CREATE TABLE "status_spans" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "inbox_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "from_at" DATETIME NOT NULL,
    "from_earliest" DATETIME,
    "to_at" DATETIME,
    "is_lower_bound" BOOLEAN NOT NULL
);

-- CreateTable
CREATE TABLE "assignee_spans" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "inbox_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "assignee_id" TEXT,
    "from_at" DATETIME NOT NULL,
    "from_earliest" DATETIME,
    "to_at" DATETIME,
    "is_lower_bound" BOOLEAN NOT NULL
);

-- CreateTable
CREATE TABLE "tag_spans" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "inbox_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "tag_id" TEXT NOT NULL,
    "from_at" DATETIME NOT NULL,
    "from_earliest" DATETIME,
    "to_at" DATETIME,
    "is_lower_bound" BOOLEAN NOT NULL
);

-- The intervals of the history so far. The statements are the definition of that time
-- (prisma/views/common/intervals/). It is faster to create the indexes afterwards.
INSERT INTO "status_spans" (inbox_id, conversation_id, status, from_at, from_earliest, to_at, is_lower_bound)
SELECT inbox_id, conversation_id, status, from_at, from_earliest, to_at, is_lower_bound FROM (
WITH
  stays AS (
    SELECT inboxes.id AS inbox_id, NULL AS from_at, NULL AS gone_at,
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = inboxes.id
         AND gone.field = 'presence' AND gone.new_value = 'missing' ORDER BY gone.id LIMIT 1) AS to_at
    FROM inboxes
    UNION ALL
    SELECT back.item_id, back.observed_at,
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
         AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < back.id
       ORDER BY gone.id DESC LIMIT 1),
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
         AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id > back.id
       ORDER BY gone.id LIMIT 1)
    FROM changes AS back
    WHERE back.list = 'inboxes' AND back.inbox_id IS NULL
      AND back.field = 'presence' AND back.new_value = 'present'
      AND EXISTS (SELECT 1 FROM changes AS gone
        WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
        AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < back.id)
  ),
  events AS (
    SELECT inbox_id, item_id, id, field, new_value, observed_at,
      lead(observed_at) OVER (PARTITION BY inbox_id, item_id ORDER BY id) AS next_at,
      lag(observed_at) OVER (PARTITION BY inbox_id, item_id ORDER BY id) AS before_at
    FROM changes
    WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status') AND field <> 'assignee_id'
      AND (field = 'presence' OR (CASE WHEN old_value IN ('close', 'closed') THEN 'closed' ELSE coalesce(old_value, 'none') END) <> (CASE WHEN new_value IN ('close', 'closed') THEN 'closed' ELSE coalesce(new_value, 'none') END))
  ),
  own AS (
    SELECT events.inbox_id, events.item_id, events.id AS change_id, events.field, events.before_at,
      events.observed_at AS from_at,
      CASE WHEN events.next_at IS NULL
        THEN (SELECT deleted_at FROM conversations
          WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)
        ELSE events.next_at END AS to_at,
      CASE WHEN events.field = 'status' THEN (CASE WHEN events.new_value IN ('close', 'closed') THEN 'closed' ELSE coalesce(events.new_value, 'none') END) ELSE coalesce(
        (SELECT (CASE WHEN later.old_value IN ('close', 'closed') THEN 'closed' ELSE coalesce(later.old_value, 'none') END) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = events.inbox_id
           AND later.item_id = events.item_id AND later.id > events.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status'
         ORDER BY later.id LIMIT 1),
        (SELECT (CASE WHEN conversations.status IN ('close', 'closed') THEN 'closed' ELSE coalesce(conversations.status, 'none') END) FROM conversations
         WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)) END AS value
    FROM events
    WHERE events.field = 'status' OR events.new_value = 'present'
    UNION ALL
    SELECT first.inbox_id, first.id, NULL, NULL, NULL, first.first_seen_at,
      coalesce(
        (SELECT later.observed_at FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = first.inbox_id AND later.item_id = first.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field <> 'assignee_id'
           AND (later.field = 'presence' OR (CASE WHEN later.old_value IN ('close', 'closed') THEN 'closed' ELSE coalesce(later.old_value, 'none') END) <> (CASE WHEN later.new_value IN ('close', 'closed') THEN 'closed' ELSE coalesce(later.new_value, 'none') END))
         ORDER BY later.id LIMIT 1),
        first.deleted_at),
      coalesce(
        (SELECT (CASE WHEN later.old_value IN ('close', 'closed') THEN 'closed' ELSE coalesce(later.old_value, 'none') END) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = first.inbox_id AND later.item_id = first.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status'
         ORDER BY later.id LIMIT 1),
        (CASE WHEN first.status IN ('close', 'closed') THEN 'closed' ELSE coalesce(first.status, 'none') END))
    FROM conversations AS first
    WHERE NOT EXISTS (
      SELECT 1 FROM changes AS came
      WHERE came.list = 'conversations' AND came.inbox_id = first.inbox_id AND came.item_id = first.id
        AND came.field IN ('assignee_id', 'presence', 'status') AND came.field = 'presence'
        AND came.new_value = 'present'
        AND NOT (came.observed_at <> first.first_seen_at))
  ),
  intervals AS (
    SELECT own.inbox_id, own.item_id AS conversation_id, own.value,
      CASE WHEN stays.from_at > own.from_at THEN stays.from_at ELSE own.from_at END AS from_at,
      CASE
        WHEN stays.from_at > own.from_at THEN stays.gone_at
        WHEN own.field = 'status' AND (own.before_at IS NULL OR own.before_at <> own.from_at)
          THEN (SELECT begun.previously_seen_at FROM changes AS begun WHERE begun.id = own.change_id)
        WHEN own.change_id IS NOT NULL THEN coalesce(
          (SELECT CASE WHEN own.field = 'presence' AND sweeps.started_at < own.before_at THEN own.before_at
            ELSE sweeps.started_at END
           FROM changes AS begun
           JOIN sweeps ON sweeps.list = 'conversations' AND sweeps.inbox_id = begun.inbox_id
             AND sweeps.state = 'complete' AND sweeps.id < begun.sweep_id
           WHERE begun.id = own.change_id ORDER BY sweeps.id DESC LIMIT 1),
          CASE WHEN own.field = 'presence' THEN own.before_at END)
      END AS from_earliest,
      (own.change_id IS NOT NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)
        AND NOT (own.field = 'status' AND (own.before_at IS NULL OR own.before_at <> own.from_at))) AS by_sweep,
      CASE WHEN own.to_at IS NULL OR stays.to_at < own.to_at THEN stays.to_at ELSE own.to_at END AS to_at,
      (own.change_id IS NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)) AS is_lower_bound
    FROM own
    JOIN stays ON stays.inbox_id = own.inbox_id
      AND (stays.from_at IS NULL OR own.to_at IS NULL OR stays.from_at < own.to_at)
      AND (stays.to_at IS NULL OR stays.to_at > own.from_at)
    WHERE own.to_at IS NULL OR own.to_at > own.from_at
  )
SELECT inbox_id, conversation_id, value AS status, from_at, from_earliest, to_at, is_lower_bound
FROM intervals
) AS computed;

INSERT INTO "assignee_spans" (inbox_id, conversation_id, assignee_id, from_at, from_earliest, to_at, is_lower_bound)
SELECT inbox_id, conversation_id, assignee_id, from_at, from_earliest, to_at, is_lower_bound FROM (
WITH
  stays AS (
    SELECT inboxes.id AS inbox_id, NULL AS from_at, NULL AS gone_at,
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = inboxes.id
         AND gone.field = 'presence' AND gone.new_value = 'missing' ORDER BY gone.id LIMIT 1) AS to_at
    FROM inboxes
    UNION ALL
    SELECT back.item_id, back.observed_at,
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
         AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < back.id
       ORDER BY gone.id DESC LIMIT 1),
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
         AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id > back.id
       ORDER BY gone.id LIMIT 1)
    FROM changes AS back
    WHERE back.list = 'inboxes' AND back.inbox_id IS NULL
      AND back.field = 'presence' AND back.new_value = 'present'
      AND EXISTS (SELECT 1 FROM changes AS gone
        WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
        AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < back.id)
  ),
  events AS (
    SELECT inbox_id, item_id, id, field, new_value, observed_at,
      lead(observed_at) OVER (PARTITION BY inbox_id, item_id ORDER BY id) AS next_at,
      lag(observed_at) OVER (PARTITION BY inbox_id, item_id ORDER BY id) AS before_at
    FROM changes
    WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status') AND field <> 'status'
      AND (field = 'presence' OR coalesce(old_value, '') <> coalesce(new_value, ''))
  ),
  own AS (
    SELECT events.inbox_id, events.item_id, events.id AS change_id, events.field, events.before_at,
      events.observed_at AS from_at,
      CASE WHEN events.next_at IS NULL
        THEN (SELECT deleted_at FROM conversations
          WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)
        ELSE events.next_at END AS to_at,
      CASE WHEN events.field = 'assignee_id' THEN coalesce(events.new_value, '') ELSE coalesce(
        (SELECT coalesce(later.old_value, '') FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = events.inbox_id
           AND later.item_id = events.item_id AND later.id > events.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'assignee_id'
         ORDER BY later.id LIMIT 1),
        (SELECT coalesce(conversations.assignee_id, '') FROM conversations
         WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)) END AS value
    FROM events
    WHERE events.field = 'assignee_id' OR events.new_value = 'present'
    UNION ALL
    SELECT first.inbox_id, first.id, NULL, NULL, NULL, first.first_seen_at,
      coalesce(
        (SELECT later.observed_at FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = first.inbox_id AND later.item_id = first.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field <> 'status'
           AND (later.field = 'presence' OR coalesce(later.old_value, '') <> coalesce(later.new_value, ''))
         ORDER BY later.id LIMIT 1),
        first.deleted_at),
      coalesce(
        (SELECT coalesce(later.old_value, '') FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = first.inbox_id AND later.item_id = first.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'assignee_id'
         ORDER BY later.id LIMIT 1),
        coalesce(first.assignee_id, ''))
    FROM conversations AS first
    WHERE NOT EXISTS (
      SELECT 1 FROM changes AS came
      WHERE came.list = 'conversations' AND came.inbox_id = first.inbox_id AND came.item_id = first.id
        AND came.field IN ('assignee_id', 'presence', 'status') AND came.field = 'presence'
        AND came.new_value = 'present'
        AND NOT (came.observed_at <> first.first_seen_at))
  ),
  intervals AS (
    SELECT own.inbox_id, own.item_id AS conversation_id, own.value,
      CASE WHEN stays.from_at > own.from_at THEN stays.from_at ELSE own.from_at END AS from_at,
      CASE
        WHEN stays.from_at > own.from_at THEN stays.gone_at
        WHEN own.field = 'assignee_id' AND (own.before_at IS NULL OR own.before_at <> own.from_at)
          THEN (SELECT begun.previously_seen_at FROM changes AS begun WHERE begun.id = own.change_id)
        WHEN own.change_id IS NOT NULL THEN coalesce(
          (SELECT CASE WHEN own.field = 'presence' AND sweeps.started_at < own.before_at THEN own.before_at
            ELSE sweeps.started_at END
           FROM changes AS begun
           JOIN sweeps ON sweeps.list = 'conversations' AND sweeps.inbox_id = begun.inbox_id
             AND sweeps.state = 'complete' AND sweeps.id < begun.sweep_id
           WHERE begun.id = own.change_id ORDER BY sweeps.id DESC LIMIT 1),
          CASE WHEN own.field = 'presence' THEN own.before_at END)
      END AS from_earliest,
      (own.change_id IS NOT NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)
        AND NOT (own.field = 'assignee_id' AND (own.before_at IS NULL OR own.before_at <> own.from_at))) AS by_sweep,
      CASE WHEN own.to_at IS NULL OR stays.to_at < own.to_at THEN stays.to_at ELSE own.to_at END AS to_at,
      (own.change_id IS NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)) AS is_lower_bound
    FROM own
    JOIN stays ON stays.inbox_id = own.inbox_id
      AND (stays.from_at IS NULL OR own.to_at IS NULL OR stays.from_at < own.to_at)
      AND (stays.to_at IS NULL OR stays.to_at > own.from_at)
    WHERE own.to_at IS NULL OR own.to_at > own.from_at
  )
SELECT inbox_id, conversation_id, nullif(value, '') AS assignee_id,
  from_at, from_earliest, to_at, is_lower_bound
FROM intervals
) AS computed;

INSERT INTO "tag_spans" (inbox_id, conversation_id, tag_id, from_at, from_earliest, to_at, is_lower_bound)
SELECT inbox_id, conversation_id, tag_id, from_at, from_earliest, to_at, is_lower_bound FROM (
WITH
  stays AS (
    SELECT inboxes.id AS inbox_id, NULL AS from_at, NULL AS gone_at,
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = inboxes.id
         AND gone.field = 'presence' AND gone.new_value = 'missing' ORDER BY gone.id LIMIT 1) AS to_at
    FROM inboxes
    UNION ALL
    SELECT back.item_id, back.observed_at,
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
         AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < back.id
       ORDER BY gone.id DESC LIMIT 1),
      (SELECT gone.observed_at FROM changes AS gone
       WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
         AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id > back.id
       ORDER BY gone.id LIMIT 1)
    FROM changes AS back
    WHERE back.list = 'inboxes' AND back.inbox_id IS NULL
      AND back.field = 'presence' AND back.new_value = 'present'
      AND EXISTS (SELECT 1 FROM changes AS gone
        WHERE gone.list = 'inboxes' AND gone.inbox_id IS NULL AND gone.item_id = back.item_id
        AND gone.field = 'presence' AND gone.new_value = 'missing' AND gone.id < back.id)
  ),
  events AS (
    SELECT inbox_id, item_id, id, field, new_value, observed_at,
      lead(observed_at) OVER (PARTITION BY inbox_id, item_id ORDER BY id) AS next_at,
      lag(observed_at) OVER (PARTITION BY inbox_id, item_id ORDER BY id) AS before_at
    FROM changes
    WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status') AND field <> 'assignee_id'
      AND (field = 'presence' OR '' <> '')
  ),
  own AS (
    SELECT events.inbox_id, events.item_id, events.id AS change_id, events.field, events.before_at,
      events.observed_at AS from_at,
      CASE WHEN events.next_at IS NULL
        THEN (SELECT deleted_at FROM conversations
          WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)
        ELSE events.next_at END AS to_at,
      CASE WHEN events.field = 'status' THEN '' ELSE coalesce(
        (SELECT '' FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = events.inbox_id
           AND later.item_id = events.item_id AND later.id > events.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status'
         ORDER BY later.id LIMIT 1),
        (SELECT '' FROM conversations
         WHERE conversations.inbox_id = events.inbox_id AND conversations.id = events.item_id)) END AS value
    FROM events
    WHERE events.field = 'status' OR events.new_value = 'present'
    UNION ALL
    SELECT first.inbox_id, first.id, NULL, NULL, NULL, first.first_seen_at,
      coalesce(
        (SELECT later.observed_at FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = first.inbox_id AND later.item_id = first.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field <> 'assignee_id'
           AND (later.field = 'presence' OR '' <> '')
         ORDER BY later.id LIMIT 1),
        first.deleted_at),
      coalesce(
        (SELECT '' FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = first.inbox_id AND later.item_id = first.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status'
         ORDER BY later.id LIMIT 1),
        '')
    FROM conversations AS first
    WHERE NOT EXISTS (
      SELECT 1 FROM changes AS came
      WHERE came.list = 'conversations' AND came.inbox_id = first.inbox_id AND came.item_id = first.id
        AND came.field IN ('assignee_id', 'presence', 'status') AND came.field = 'presence'
        AND came.new_value = 'present'
        AND NOT (came.observed_at <> first.first_seen_at))
  ),
  intervals AS (
    SELECT own.inbox_id, own.item_id AS conversation_id, own.value,
      CASE WHEN stays.from_at > own.from_at THEN stays.from_at ELSE own.from_at END AS from_at,
      CASE
        WHEN stays.from_at > own.from_at THEN stays.gone_at
        WHEN own.field = 'status' AND (own.before_at IS NULL OR own.before_at <> own.from_at)
          THEN (SELECT begun.previously_seen_at FROM changes AS begun WHERE begun.id = own.change_id)
        WHEN own.change_id IS NOT NULL THEN coalesce(
          (SELECT CASE WHEN own.field = 'presence' AND sweeps.started_at < own.before_at THEN own.before_at
            ELSE sweeps.started_at END
           FROM changes AS begun
           JOIN sweeps ON sweeps.list = 'conversations' AND sweeps.inbox_id = begun.inbox_id
             AND sweeps.state = 'complete' AND sweeps.id < begun.sweep_id
           WHERE begun.id = own.change_id ORDER BY sweeps.id DESC LIMIT 1),
          CASE WHEN own.field = 'presence' THEN own.before_at END)
      END AS from_earliest,
      (own.change_id IS NOT NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)
        AND NOT (own.field = 'status' AND (own.before_at IS NULL OR own.before_at <> own.from_at))) AS by_sweep,
      CASE WHEN own.to_at IS NULL OR stays.to_at < own.to_at THEN stays.to_at ELSE own.to_at END AS to_at,
      (own.change_id IS NULL AND (stays.from_at IS NULL OR stays.from_at <= own.from_at)) AS is_lower_bound
    FROM own
    JOIN stays ON stays.inbox_id = own.inbox_id
      AND (stays.from_at IS NULL OR own.to_at IS NULL OR stays.from_at < own.to_at)
      AND (stays.to_at IS NULL OR stays.to_at > own.from_at)
    WHERE own.to_at IS NULL OR own.to_at > own.from_at
  ),
  turns AS (
    SELECT inbox_id, item_id, coalesce(new_value, old_value) AS tag_id, new_value IS NOT NULL AS is_added,
      observed_at, previously_seen_at,
      lead(observed_at) OVER (PARTITION BY inbox_id, item_id, coalesce(new_value, old_value) ORDER BY id)
        AS next_at,
      row_number() OVER (PARTITION BY inbox_id, item_id, coalesce(new_value, old_value) ORDER BY id) AS nth
    FROM changes
    WHERE list = 'conversations' AND field = 'tags'
  ),
  unchanged AS (
    SELECT inbox_id, conversation_id AS item_id, tag_id FROM conversation_tags
    EXCEPT SELECT inbox_id, item_id, tag_id FROM turns
  ),
  links AS (
    SELECT inbox_id, item_id, tag_id, observed_at AS from_at, previously_seen_at AS from_earliest,
      next_at AS to_at
    FROM turns WHERE is_added
    UNION ALL
    SELECT inbox_id, item_id, tag_id, NULL, NULL, observed_at FROM turns WHERE nth = 1 AND NOT is_added
    UNION ALL
    SELECT inbox_id, item_id, tag_id, NULL, NULL, NULL FROM unchanged
  )
SELECT intervals.inbox_id, intervals.conversation_id, links.tag_id,
  CASE WHEN links.from_at > intervals.from_at THEN links.from_at ELSE intervals.from_at END AS from_at,
  CASE WHEN links.from_at > intervals.from_at THEN links.from_earliest ELSE intervals.from_earliest END
    AS from_earliest,
  CASE WHEN intervals.to_at IS NULL OR links.to_at < intervals.to_at THEN links.to_at
    ELSE intervals.to_at END AS to_at,
  (intervals.is_lower_bound AND (links.from_at IS NULL OR links.from_at <= intervals.from_at))
    AS is_lower_bound,
  (intervals.by_sweep AND (links.from_at IS NULL OR links.from_at <= intervals.from_at)) AS by_sweep
FROM links
JOIN intervals ON intervals.inbox_id = links.inbox_id AND intervals.conversation_id = links.item_id
  AND (links.from_at IS NULL OR intervals.to_at IS NULL OR links.from_at < intervals.to_at)
  AND (links.to_at IS NULL OR links.to_at > intervals.from_at)
WHERE links.from_at IS NULL OR links.to_at IS NULL OR links.to_at > links.from_at
) AS computed;

-- CreateIndex
CREATE INDEX "status_spans_inbox_id_conversation_id_idx" ON "status_spans"("inbox_id", "conversation_id");

-- CreateIndex
CREATE INDEX "status_spans_inbox_id_to_at_from_at_status_idx" ON "status_spans"("inbox_id", "to_at", "from_at", "status");

-- CreateIndex
CREATE INDEX "assignee_spans_inbox_id_conversation_id_idx" ON "assignee_spans"("inbox_id", "conversation_id");

-- CreateIndex
CREATE INDEX "assignee_spans_inbox_id_to_at_from_at_assignee_id_idx" ON "assignee_spans"("inbox_id", "to_at", "from_at", "assignee_id");

-- CreateIndex
CREATE INDEX "tag_spans_inbox_id_conversation_id_idx" ON "tag_spans"("inbox_id", "conversation_id");

-- CreateIndex
CREATE INDEX "tag_spans_inbox_id_to_at_from_at_tag_id_idx" ON "tag_spans"("inbox_id", "to_at", "from_at", "tag_id");

-- Without statistics, the planner would read the whole tables.
ANALYZE "status_spans";
ANALYZE "assignee_spans";
ANALYZE "tag_spans";
