import { isMirrorError } from '../../core/errors.ts';
import { TABLE_SENTENCES } from '../catalogue.ts';
import type { Sql } from '../database.ts';
import type { PostgresAddress } from './address.ts';
import { asPostgresError } from './errors.ts';

/** The mirror's tables, separated by commas. */
const NAMES = Object.keys(TABLE_SENTENCES).join(',');

/**
 * Like `asPostgresError`, but a missing table is a failure of the mirror only if the mirror lacks one. If it
 * lacks none, a trigger or a rule of another program misses one of its own, and the error stays unchanged.
 */
export async function asFailure(
  thrown: unknown,
  sql: Pick<Sql, 'query'>,
  { schema, name }: PostgresAddress,
): Promise<unknown> {
  const known = asPostgresError(thrown, name);
  if (!isMirrorError(known) || !known.isDamage) return known;
  try {
    return (await lacksTables(sql, schema)) ? known : thrown;
  } catch (error) {
    return asPostgresError(error, name);
  }
}

async function lacksTables({ query }: Pick<Sql, 'query'>, schema: string): Promise<boolean> {
  const missing = await query(
    `SELECT 1 FROM unnest(string_to_array($2, ',')) AS name WHERE NOT EXISTS (
       SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE nspname = $1 AND relname = name)
     LIMIT 1`,
    schema,
    NAMES,
  );
  return missing.length > 0;
}
