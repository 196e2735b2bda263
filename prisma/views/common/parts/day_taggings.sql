-- How many intervals of each tag began and ended on each of the days $1.
  tag_edges AS (
    SELECT $1.day, spans.inbox_id, spans.tag_id, CASE WHEN spans.is_lower_bound THEN 'had' ELSE 'got' END AS edge
    FROM $1
    LOOK_UP(tag_spans, spans) spans.from_at >= $1.starts_at AND spans.from_at < $1.ends_at AND IN_CHUNK(spans);
    UNION ALL
    SELECT $1.day, spans.inbox_id, spans.tag_id, 'lost'
    FROM $1
    LOOK_UP(tag_spans, spans) spans.to_at >= $1.starts_at AND spans.to_at < $1.ends_at AND IN_CHUNK(spans);
  ),
  computed_taggings AS (
    SELECT day, inbox_id, tag_id, edge, count(*) AS taggings
    FROM tag_edges GROUP BY day, inbox_id, tag_id, edge
  )
