-- How often conversations were seen to get each tag on each of the days $1.
  computed_taggings AS (
    SELECT $1.day, spans.inbox_id, spans.tag_id, count(*) AS taggings
    FROM $1
    LOOK_UP(tag_spans, spans) spans.from_at >= $1.starts_at AND spans.from_at < $1.ends_at
      AND NOT spans.is_lower_bound AND IN_CHUNK(spans);
    GROUP BY $1.day, spans.inbox_id, spans.tag_id
  )
