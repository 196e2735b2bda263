-- The times in which a conversation was present and carried a tag.
WITH
  -- All values count as equal: these are the times in which the conversation was present.
  PART(intervals, status, assignee_id, NOTHING_OF),
  turns AS (
    SELECT inbox_id, item_id, tag_id, is_added, at, previously_seen_at, lead(at) OVER life AS next_at,
      row_number() OVER life AS nth
    FROM (
      SELECT inbox_id, item_id, id, coalesce(new_value, old_value) AS tag_id,
        new_value IS NOT NULL AS is_added, previously_seen_at,
        -- As in the part `intervals`: a change counts from the earliest of its instant and those after it.
        min(observed_at) OVER (PARTITION BY inbox_id, item_id, coalesce(new_value, old_value) ORDER BY id DESC)
          AS at
      FROM changes
      WHERE list = 'conversations' AND field = 'tags' AND IN_SCOPE(inbox_id, item_id)) AS tagged
    WINDOW life AS (PARTITION BY inbox_id, item_id, tag_id ORDER BY id)
  ),
  -- A link whose first change removes it, or that has no change, was there from the beginning.
  unchanged AS (
    SELECT inbox_id, conversation_id AS item_id, tag_id FROM conversation_tags
    WHERE IN_SCOPE(inbox_id, conversation_id)
    EXCEPT SELECT inbox_id, item_id, tag_id FROM turns
  ),
  links AS (
    SELECT inbox_id, item_id, tag_id, at AS from_at,
      CASE WHEN previously_seen_at > at THEN at ELSE previously_seen_at END AS from_earliest, next_at AS to_at
    FROM turns WHERE is_added
    UNION ALL
    SELECT inbox_id, item_id, tag_id, NULL, NULL, at FROM turns WHERE nth = 1 AND NOT is_added
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
