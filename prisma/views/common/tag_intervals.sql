CREATE VIEW tag_intervals AS
SELECT inbox_id, conversation_id, tag_id, from_at, from_earliest, to_at, is_lower_bound FROM tag_spans
