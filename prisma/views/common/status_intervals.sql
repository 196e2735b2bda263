CREATE VIEW status_intervals AS
SELECT inbox_id, conversation_id, status, from_at, from_earliest, to_at, is_lower_bound FROM status_spans
