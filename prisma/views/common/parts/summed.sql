-- The sums of all days: those that the table $2 stores, and those that `$3` computes, with the same columns;
-- needs the part `days`.
  $1 AS (
    SELECT stored.* FROM $2 AS stored
    JOIN days ON days.day = stored.day AND days.is_counted
    UNION ALL
    SELECT * FROM $3
  )
