-- When each conversation was closed (1) and reopened (0); needs the part `meanings`.
  -- As in conversation_facts: a conversation that returns with another status was not closed or reopened.
  turns AS (
    SELECT spans.inbox_id, spans.conversation_id, spans.from_at AS at,
      CASE WHEN meanings.meaning = 'final' THEN 1 ELSE 0 END AS closed
    FROM status_spans AS spans
    JOIN meanings ON meanings.status = spans.status
    JOIN meanings AS before ON before.status = spans.status_before
    WHERE (meanings.meaning = 'final') <> (before.meaning = 'final')
  )
