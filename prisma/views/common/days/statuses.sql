WITH RECURSIVE
  PART(chosen, $1, $2),
  PART(statuses),
  PART(day_statuses, chosen)
SELECT day, inbox_id, status, difference FROM computed_statuses WHERE difference <> 0
