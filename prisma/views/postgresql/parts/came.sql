-- A conversation that appeared or was removed had the status that its next change of status names as the old
-- one. Without a later change, it had the present status. A subquery for each conversation would take too
-- long on PostgreSQL. Each appearance or removal is therefore joined with the conversation's first change of
-- status. Only those after that change need the subquery.
  first_changes AS (
    SELECT DISTINCT ON (inbox_id, item_id) inbox_id, item_id, id, old_value
    FROM changes
    WHERE list = 'conversations' AND field IN ('assignee_id', 'presence', 'status') AND field = 'status'
    ORDER BY inbox_id, item_id, id
  ),
  days_begin AS MATERIALIZED (SELECT array_agg(starts_at ORDER BY starts_at) AS instants FROM report_days),
  arrivals AS MATERIALIZED (
    SELECT turns.inbox_id,
      -- The number of the day, counted from 1.
      width_bucket(turns.observed_at, days_begin.instants) AS nth,
      CASE WHEN turns.new_value = 'present' THEN 1 ELSE -1 END AS n,
      CASE
        WHEN first_changes.id > turns.id THEN STATUS_OF(first_changes.old_value)
        ELSE coalesce(
          (SELECT STATUS_OF(later.old_value) FROM changes AS later
           WHERE first_changes.id IS NOT NULL
             AND later.list = 'conversations' AND later.inbox_id = turns.inbox_id
             AND later.item_id = turns.item_id AND later.id > turns.id
             AND later.field IN ('assignee_id', 'presence', 'status') AND later.field = 'status'
           ORDER BY later.id LIMIT 1),
          (SELECT STATUS_OF(conversations.status) FROM conversations
           WHERE conversations.inbox_id = turns.inbox_id AND conversations.id = turns.item_id))
      END AS status
    -- The materialized CTE prevents a parallel plan, in which each worker would read all first changes.
    FROM days_begin
    CROSS JOIN changes AS turns
    LEFT JOIN first_changes
      ON first_changes.inbox_id = turns.inbox_id AND first_changes.item_id = turns.item_id
    WHERE turns.list = 'conversations' AND turns.field = 'presence'
  ),
  came AS (
    SELECT days.day, summed.inbox_id, summed.n, summed.status
    FROM (SELECT inbox_id, nth, status, sum(n) AS n FROM arrivals GROUP BY inbox_id, nth, status) AS summed
    JOIN (SELECT day, row_number() OVER (ORDER BY starts_at) AS nth FROM report_days) AS days
      ON days.nth = summed.nth
  )
