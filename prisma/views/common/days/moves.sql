WITH RECURSIVE
  PART(chosen, $1, $2),
  PART(day_moves, chosen)
SELECT day, inbox_id, field, old_value, new_value, moves FROM computed_moves WHERE moves <> 0
