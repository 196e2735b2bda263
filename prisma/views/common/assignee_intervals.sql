CREATE VIEW assignee_intervals AS
SELECT inbox_id, conversation_id, assignee_id, from_at, from_earliest, to_at, is_lower_bound
FROM assignee_spans
