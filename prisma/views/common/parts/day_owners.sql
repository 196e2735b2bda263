-- By how much the number of conversations of each status and `$3` (of `$2`) grew on each of the days $1; needs
-- the part `statuses`. A conversation has a status and a `$3` from the later beginning of two intervals to the
-- earlier end: each of these four has its branch. IN_CHUNK picks a part, for a day with very many.
  pair_edges AS (
    SELECT $1.day, spans.inbox_id, owners.$3, spans.status, 1 AS n
    FROM statuses
    CROSS JOIN $1
    LOOK_UP(status_spans, spans) spans.inbox_id = statuses.inbox_id AND spans.status = statuses.status
      AND spans.from_at >= $1.starts_at AND spans.from_at < $1.ends_at AND IN_CHUNK(spans);
    LOOK_UP($2, owners) OVERLAPS(spans, owners) AND owners.from_at <= spans.from_at;
    UNION ALL
    SELECT $1.day, spans.inbox_id, owners.$3, spans.status, -1
    FROM statuses
    CROSS JOIN $1
    LOOK_UP(status_spans, spans) spans.inbox_id = statuses.inbox_id AND spans.status = statuses.status
      AND spans.to_at >= $1.starts_at AND spans.to_at < $1.ends_at AND IN_CHUNK(spans);
    LOOK_UP($2, owners) OVERLAPS(spans, owners) AND (owners.to_at IS NULL OR owners.to_at >= spans.to_at);
    UNION ALL
    SELECT $1.day, owners.inbox_id, owners.$3, spans.status, 1
    FROM $1
    LOOK_UP($2, owners) owners.from_at >= $1.starts_at AND owners.from_at < $1.ends_at AND IN_CHUNK(owners);
    LOOK_UP(status_spans, spans) OVERLAPS(owners, spans) AND spans.from_at < owners.from_at;
    UNION ALL
    SELECT $1.day, owners.inbox_id, owners.$3, spans.status, -1
    FROM $1
    LOOK_UP($2, owners) owners.to_at >= $1.starts_at AND owners.to_at < $1.ends_at AND IN_CHUNK(owners);
    LOOK_UP(status_spans, spans) OVERLAPS(owners, spans) AND (spans.to_at IS NULL OR spans.to_at > owners.to_at);
  ),
  computed_owners AS (
    SELECT day, inbox_id, ID_OF($3) AS $3, status, sum(n) AS difference
    FROM pair_edges GROUP BY day, inbox_id, ID_OF($3), status
  )
