JOIN (
PART(owners)
    GROUP BY inbox_id, conversation_id
    ) AS owners_of ON owners_of.inbox_id = statuses_of.inbox_id
      AND owners_of.conversation_id = statuses_of.conversation_id
