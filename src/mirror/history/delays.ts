import { DAY } from '../../core/clock.ts';
import { type Database, named } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/** A time at which a conversation was seen to have changed. */
export interface SeenDelay {
  /** Milliseconds since it was seen before. The change fell in between, so it was seen at most that late. */
  readonly ms: number;
  readonly observedAt: Date;
}

/**
 * How late changes of conversations in the 24 hours before `now` (epoch ms) were seen at most, ascending. A
 * row that was seen by a clock that was ahead, now or before, tells nothing. The view `freshness` counts the
 * same ones.
 */
export async function readDelays(
  { dialect, query }: Pick<Database, 'dialect' | 'query'>,
  now: number,
): Promise<SeenDelay[]> {
  const window = dialect.millisecondsBetween('max(previously_seen_at)', 'observed_at');
  const rows = await query<{ ms: number; observed_at: Date }>(
    ...named(
      `SELECT ${window} AS ms, observed_at FROM changes ${dialect.readBy('changes_observed_at_idx')}
       WHERE observed_at >= :since AND observed_at <= :now AND list = 'conversations' AND field <> 'presence'
         AND previously_seen_at <= observed_at
       GROUP BY inbox_id, item_id, observed_at`,
      { since: iso(now - DAY), now: iso(now) },
    ),
  );
  return rows.map(({ ms, observed_at }) => ({ ms, observedAt: observed_at })).sort((a, b) => a.ms - b.ms);
}
