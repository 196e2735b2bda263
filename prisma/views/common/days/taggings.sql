WITH RECURSIVE
  PART(chosen, $1, $2),
  PART(day_taggings, chosen)
SELECT day, inbox_id, tag_id, edge, taggings FROM computed_taggings
