import { type Database, named } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/**
 * For each time that a conversation was seen to have changed since an instant (epoch ms): the milliseconds
 * since it was seen before. The change happened in between, so it was seen at most that late. Ascending.
 */
export async function readDelays(
  { dialect, query }: Pick<Database, 'dialect' | 'query'>,
  since: number,
): Promise<number[]> {
  const window = dialect.millisecondsBetween('max(previously_seen_at)', 'observed_at');
  const rows = await query<{ ms: number }>(
    ...named(
      `SELECT ${window} AS ms FROM changes
       WHERE observed_at >= :since AND list = 'conversations' AND field <> 'presence'
         AND previously_seen_at IS NOT NULL
       GROUP BY inbox_id, item_id, observed_at`,
      { since: iso(since) },
    ),
  );
  return rows.map(({ ms }) => ms).sort((a, b) => a - b);
}
