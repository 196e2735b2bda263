WITH RECURSIVE
  PART(chosen, $1, $2),
  PART(statuses),
  PART(day_owners, chosen, assignee_spans, assignee_id)
SELECT day, inbox_id, assignee_id, status, difference FROM computed_owners WHERE difference <> 0
