-- The tags of the conversations `few`. OFFSET makes PostgreSQL look up each conversation: it estimates their
-- number far too high, and would read all links a second time.
    FROM few
    CROSS JOIN LATERAL (SELECT links.inbox_id, links.tag_id FROM conversation_tags AS links
      WHERE links.inbox_id = few.inbox_id AND links.conversation_id = few.id OFFSET 0) AS tags
