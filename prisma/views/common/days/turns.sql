WITH RECURSIVE
  PART(chosen, $1, $2),
  PART(statuses),
  PART(day_turns, chosen)
SELECT day, inbox_id, assignee_id, old_status, new_status, turns FROM computed_turns
