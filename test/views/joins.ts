import { expect } from 'vitest';
import type { CatalogueEntry } from '../../src/database/columns.ts';
import type { Database } from '../../src/database/database.ts';

/**
 * Follows the joins of every table and view: a certain one leads from every row to another, any other one from
 * some rows. Returns how many had rows.
 */
export async function followJoins(database: Database, catalogue: readonly CatalogueEntry[]): Promise<number> {
  let followed = 0;
  for (const { name, joins } of catalogue)
    for (const { columns, table, to, isCertain } of joins) {
      const on = columns.map((column, at) => `target.${to[at]} = source.${column}`).join(' AND ');
      const isSet = columns.map((column) => `source.${column} IS NOT NULL`).join(' AND ');
      const [found] = await database.query<{ sources: number; targets: number }>(
        `SELECT count(*) AS sources, count(target.${to[0]}) AS targets
         FROM ${name} AS source LEFT JOIN ${table} AS target ON ${on} WHERE ${isSet}`,
      );
      if (found!.sources === 0) continue;
      followed += 1;
      if (isCertain) expect(found!.targets, `${name} to ${table}`).toBe(found!.sources);
      else expect(found!.targets, `${name} to ${table}`).toBeGreaterThan(0);
    }
  return followed;
}
