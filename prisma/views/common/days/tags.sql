WITH RECURSIVE
  PART(chosen, $1, $2),
  PART(statuses),
  PART(day_owners, chosen, tag_spans, tag_id)
SELECT day, inbox_id, tag_id, status, difference FROM computed_owners WHERE difference <> 0
