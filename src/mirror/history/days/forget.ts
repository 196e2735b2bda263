import type { Sql } from '../../../database/database.ts';

/**
 * Forgets the stored sums of the day that holds an instant. Runs in each transaction that writes changes, or
 * begins or ends intervals, at that instant: usually the present, which no counted day holds.
 * @param at in the stored form (`iso`)
 */
export async function forgetDay(tx: Sql, at: string): Promise<void> {
  await tx.execute(`DELETE FROM counted_days WHERE ends_at > $1 AND starts_at <= $1`, at);
}

/**
 * Forgets the stored sums of the days on which some intervals begin or end. Runs before and after
 * these intervals are replaced.
 * @param spans a FROM item with its condition: rows of a table of intervals
 */
export async function forgetDaysOf(tx: Sql, spans: string, parameters: readonly unknown[]): Promise<void> {
  // Counted days do not overlap (count.ts): the first that ends after an instant holds it, or none does.
  await tx.execute(
    `DELETE FROM counted_days WHERE day IN (
       SELECT (SELECT CASE WHEN days.starts_at <= edges.at THEN days.day END FROM counted_days AS days
         WHERE days.ends_at > edges.at ORDER BY days.ends_at LIMIT 1)
       FROM (SELECT from_at AS at FROM ${spans} UNION SELECT to_at FROM ${spans}) AS edges)`,
    ...parameters,
  );
}

/** Forgets all stored sums of days. */
export async function forgetAllDays(tx: Sql): Promise<void> {
  await tx.execute(`DELETE FROM counted_days`);
}
