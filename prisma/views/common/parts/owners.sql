    SELECT inbox_id, conversation_id,
      min(CASE WHEN assignee_id IS NOT NULL THEN from_at END) AS first_assigned_at,
      max(CASE WHEN assignee_id IS NOT NULL THEN from_at END) AS last_assigned_at,
      FIRST_OF(assignee_id, from_at) AS first_assignee_id, LAST_OF(assignee_id, from_at) AS last_assignee_id,
      PART(sums, unassigned)
    FROM owned
