-- When each conversation was closed (1) and reopened (0); needs the part `meanings`.
  -- As in conversation_facts: a conversation that returns with another status was not closed or reopened.
  turns AS (
    SELECT spans.inbox_id, spans.conversation_id, spans.from_at AS at,
      CASE WHEN meanings.meaning = 'final' THEN 1 ELSE 0 END AS closed
    FROM status_spans AS spans
    CROSS JOIN meanings
    JOIN status_spans AS ended ON ended.inbox_id = spans.inbox_id
      AND ended.conversation_id = spans.conversation_id AND ended.to_at = spans.from_at
      AND ended.from_at < spans.from_at
    JOIN meanings AS before ON before.status = ended.status
    WHERE meanings.status = spans.status
      AND (meanings.meaning = 'final') <> (before.meaning = 'final')
  )
