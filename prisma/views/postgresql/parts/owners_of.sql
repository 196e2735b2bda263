-- For each conversation by itself: PostgreSQL expects few rows from a join of two sums, and would go through
    -- all of the second for each row of the first.
    CROSS JOIN LATERAL (
PART(owners)
    WHERE owned.inbox_id = statuses_of.inbox_id AND owned.conversation_id = statuses_of.conversation_id
    GROUP BY inbox_id, conversation_id
    ) AS owners_of
