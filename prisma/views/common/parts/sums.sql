-- The times of the intervals with the meaning $1: clock time and office hours, in milliseconds.
      coalesce(sum(MILLISECONDS_BETWEEN(from_at, until_at)) FILTER (WHERE meaning = '$1'), 0) AS $1_ms,
      coalesce(sum(OFFICE_UNTIL(until_at) - OFFICE_UNTIL(from_at))
        FILTER (WHERE meaning = '$1' AND EXISTS (SELECT 1 FROM office_hours)), 0) AS $1_office_ms
