-- The tags of the conversations `few`.
    FROM few
    CROSS JOIN conversation_tags AS tags
    WHERE tags.inbox_id = few.inbox_id AND tags.conversation_id = few.id
