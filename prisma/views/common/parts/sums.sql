-- The times of the intervals with the meaning $1: clock time and office hours, in milliseconds.
      sum(CASE WHEN meaning = '$1' THEN MILLISECONDS_BETWEEN(from_at, until_at) ELSE 0 END) AS $1_ms,
      sum(CASE WHEN meaning = '$1' AND EXISTS (SELECT 1 FROM office_hours)
        THEN OFFICE_UNTIL(until_at) - OFFICE_UNTIL(from_at) ELSE 0 END) AS $1_office_ms
