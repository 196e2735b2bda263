CREATE VIEW backlog_daily AS
WITH
  -- Today's figures are known; those of each day before follow by taking back what happened since.
  -- Summed by the three statuses that are documented in the order in which the index has them, since sorting millions of changes costs the most.
  moved AS (
    SELECT days.day, inboxes.id AS inbox_id,
      sum(CASE WHEN changes.new_value = 'open' THEN 1 ELSE 0 END - CASE WHEN changes.old_value = 'open' THEN 1 ELSE 0 END) AS open,
      sum(CASE WHEN changes.new_value = 'pending' THEN 1 ELSE 0 END - CASE WHEN changes.old_value = 'pending' THEN 1 ELSE 0 END) AS pending,
      sum(CASE WHEN changes.new_value IN ('close', 'closed') THEN 1 ELSE 0 END - CASE WHEN changes.old_value IN ('close', 'closed') THEN 1 ELSE 0 END) AS closed,
      sum(CASE WHEN changes.new_value IN ('open', 'pending', 'close', 'closed') AND changes.old_value IN ('open', 'pending', 'close', 'closed') THEN 0 ELSE 1 END) AS others
    FROM report_days AS days
    CROSS JOIN inboxes
    CROSS JOIN changes
    WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'status'
      AND changes.inbox_id = inboxes.id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
    GROUP BY days.day, inboxes.id
  ),
  -- What came or went had the status that its next change found, or that is there now.
  came AS (
    SELECT days.day, inboxes.id AS inbox_id, CASE WHEN changes.new_value = 'present' THEN 1 ELSE -1 END AS n,
      coalesce(
        (SELECT STATUS_OF(later.old_value) FROM changes AS later
         WHERE later.list = 'conversations' AND later.inbox_id = changes.inbox_id AND later.item_id = changes.item_id AND later.id > changes.id
           AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status' ORDER BY later.id LIMIT 1),
        (SELECT STATUS_OF(conversations.status) FROM conversations
         WHERE conversations.inbox_id = changes.inbox_id AND conversations.id = changes.item_id)) AS status
    FROM report_days AS days
    CROSS JOIN inboxes
    CROSS JOIN changes
    WHERE changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'presence'
      AND changes.inbox_id = inboxes.id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
  ),
  -- Days with other statuses are looked at again, to name them.
  other_moves AS (
    SELECT sums.day, sums.inbox_id, STATUS_OF(changes.old_value) AS old_status, STATUS_OF(changes.new_value) AS new_status
    FROM moved AS sums
    CROSS JOIN report_days AS days
    CROSS JOIN changes
    WHERE sums.others <> 0 AND days.day = sums.day
      AND changes.list = 'conversations' AND changes.field IN ('assignee_id', 'presence', 'status') AND changes.field = 'status'
      AND changes.inbox_id = sums.inbox_id AND changes.observed_at >= days.starts_at AND changes.observed_at < days.ends_at
  ),
  differences AS (
    SELECT day, inbox_id, status, sum(n) AS n FROM (
      SELECT day, inbox_id, 'open' AS status, open AS n FROM moved WHERE open <> 0
      UNION ALL SELECT day, inbox_id, 'pending', pending FROM moved WHERE pending <> 0
      UNION ALL SELECT day, inbox_id, 'closed', closed FROM moved WHERE closed <> 0
      UNION ALL SELECT day, inbox_id, new_status, 1 FROM other_moves WHERE new_status NOT IN ('open', 'pending', 'closed')
      UNION ALL SELECT day, inbox_id, old_status, -1 FROM other_moves WHERE old_status NOT IN ('open', 'pending', 'closed')
      UNION ALL SELECT day, inbox_id, status, n FROM came
    ) AS all_moves
    GROUP BY inbox_id, status, day
  ),
  -- A gone inbox's conversations are counted as if it were there; its days are left out below.
  present AS (
    SELECT inbox_id, STATUS_OF(status) AS status, sum(n) AS n FROM (
      SELECT inboxes.id AS inbox_id, conversations.status, count(*) AS n
      FROM inboxes
      CROSS JOIN conversations
      WHERE conversations.inbox_id = inboxes.id AND (conversations.deleted_at IS NULL OR conversations.deleted_at = inboxes.deleted_at)
      GROUP BY inboxes.id, conversations.status
    ) AS as_it_came
    GROUP BY inbox_id, STATUS_OF(status)
  ),
  kinds AS (SELECT inbox_id, status FROM present UNION SELECT inbox_id, status FROM differences),
  known AS (
    SELECT inbox_id, min(finished_at) AS since FROM sweeps
    WHERE list = 'conversations' AND state = 'complete' AND inbox_id IS NOT NULL GROUP BY inbox_id
  ),
  ends AS (
    SELECT days.day, known.inbox_id,
      (SELECT seen.new_value FROM changes AS seen
       WHERE seen.list = 'inboxes' AND seen.inbox_id IS NULL AND seen.item_id = known.inbox_id AND seen.field = 'presence'
         AND seen.observed_at < days.ends_at ORDER BY seen.id DESC LIMIT 1) AS presence
    FROM known
    JOIN report_days AS days ON days.ends_at > known.since AND days.starts_at <= NOW()
  ),
  counted AS (
    SELECT ends.day, ends.inbox_id, ends.presence, kinds.status,
      coalesce(present.n, 0) - coalesce(sum(differences.n) OVER (
        PARTITION BY ends.inbox_id, kinds.status ORDER BY ends.day DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS n
    FROM ends
    JOIN kinds ON kinds.inbox_id = ends.inbox_id
    LEFT JOIN present ON present.inbox_id = kinds.inbox_id AND present.status = kinds.status
    LEFT JOIN differences ON differences.inbox_id = kinds.inbox_id AND differences.status = kinds.status AND differences.day = ends.day
  )
SELECT day, inbox_id, status, CAST(n AS INTEGER) AS conversations
FROM counted
WHERE presence IS NULL OR presence <> 'missing'
