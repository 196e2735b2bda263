import { MirrorError } from '../../core/errors.ts';
import type { Sql } from '../database.ts';
import type { PostgresAddress } from './address.ts';
import { READ_ONLY } from './errors.ts';

/** A query for the schema `$1` if it is there and the role may not look into it; the names are quoted. */
const HIDDEN_SCHEMA = `SELECT quote_ident(nspname) AS schema, quote_ident(current_user) AS role
  FROM pg_namespace WHERE nspname = $1 AND NOT has_schema_privilege(oid, 'USAGE')`;

/** A query for the rights that the creation of a mirror in the schema `$1` needs; the names are quoted. */
const RIGHTS = `SELECT quote_ident($1) AS schema, quote_ident(current_user) AS role,
    current_setting('transaction_read_only') = 'on' AS is_read_only,
    has_database_privilege(current_database(), 'CREATE') AS may_create_schema,
    (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1) AS may_create_tables`;

interface Names {
  readonly schema: string;
  readonly role: string;
}

interface Rights extends Names {
  /** True on a standby too. */
  readonly is_read_only: boolean;
  readonly may_create_schema: boolean;
  /** Null: the schema does not exist. */
  readonly may_create_tables: boolean | null;
}

/**
 * Refuses a schema that the role may not look into. For such a role it seems to have no tables.
 * @param query runs a statement with its values
 * @throws MirrorError `DATABASE`
 */
export async function refuseHiddenSchema(
  query: (sql: string, values: string[]) => Promise<Names[]>,
  { schema: wanted, name }: PostgresAddress,
): Promise<void> {
  const [hidden] = await query(HIDDEN_SCHEMA, [wanted]);
  if (hidden === undefined) return;
  const { schema, role } = hidden;
  throw new MirrorError(
    'DATABASE',
    `The database ${name} does not let this user look into the schema ${schema}. To read a mirror there, ` +
      `let the owner run \`GRANT USAGE ON SCHEMA ${schema} TO ${role}\` and ` +
      `\`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}\`. ` +
      `To sync, make ${role} the owner of the schema and of its tables.`,
  );
}

/**
 * Refuses a role or a server that cannot create a mirror in the address's schema.
 * @throws MirrorError `DATABASE`
 */
export async function refuseMissingRights(
  { query }: Pick<Sql, 'query'>,
  { schema: wanted, name }: PostgresAddress,
): Promise<void> {
  const [rights] = (await query<Rights>(RIGHTS, wanted)) as [Rights];
  const { schema, role, is_read_only, may_create_schema, may_create_tables } = rights;
  if (is_read_only) throw new MirrorError('DATABASE', `The database ${name} ${READ_ONLY}.`);
  if (may_create_tables ?? may_create_schema) return;
  const [right, statement] =
    may_create_tables === null
      ? [`create the schema ${schema}`, `CREATE SCHEMA ${schema} AUTHORIZATION ${role}`]
      : [`create tables in the schema ${schema}`, `GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`];
  throw new MirrorError(
    'DATABASE',
    `The database ${name} does not let this user ${right}. ` +
      `Let a superuser or the owner run \`${statement}\`, or set DATABASE_URL to another database or schema.`,
  );
}
