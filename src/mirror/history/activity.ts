import { HOUR } from '../../core/clock.ts';
import { type Database, named } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/**
 * Changes that happened between two sightings. `first` and `last` are the hours of the sightings, counted
 * from `since`; `first` is negative for a sighting before it.
 */
export interface ActivitySpan {
  readonly first: number;
  readonly last: number;
  readonly changes: number;
}

/** The changes of conversations that were observed since an instant (epoch ms), by the hours they span. */
export async function readActivity(
  { dialect, query }: Pick<Database, 'dialect' | 'query'>,
  since: number,
): Promise<ActivitySpan[]> {
  const hourOf = (instant: string): string =>
    `CAST(floor(${dialect.millisecondsBetween(':since', instant)} / ${HOUR}) AS INTEGER)`;
  const sql = `
    SELECT ${hourOf('previously_seen_at')} AS first_hour, ${hourOf('observed_at')} AS last_hour,
      count(*) AS changes
    FROM changes ${dialect.readBy('changes_observed_at_idx')}
    WHERE observed_at >= :since AND list = 'conversations' AND previously_seen_at IS NOT NULL
    GROUP BY 1, 2`;
  const rows = await query<{ first_hour: number; last_hour: number; changes: number }>(
    ...named(sql, { since: iso(since) }),
  );
  return rows.map(({ first_hour, last_hour, changes }) => ({ first: first_hour, last: last_hour, changes }));
}
