import { MirrorError } from '../../core/errors.ts';
import { TABLE_SENTENCES } from '../catalogue.ts';
import type { Database, Sql } from '../database.ts';
import { codeIn } from './errors.ts';

/** The lock that one process at a time takes: two at once could set a sequence back. */
const ALONE = 'sequences';

interface Behind {
  readonly sequence: string;
  /** The highest id of the table. */
  readonly highest: number;
}

/**
 * Looks at the sequences of a mirror when it is opened, and again after a connection was lost: the next one
 * can lead to another server.
 */
export class SequenceWatch {
  readonly #schema: string;
  /** How often a connection was lost, and after how many of these the sequences were looked at. */
  #lost = 0;
  #checked = -1;
  #running: Promise<boolean> | null = null;

  constructor(schema: string) {
    this.#schema = schema;
  }

  /** A connection was lost, or may be. */
  connectionLost(): void {
    this.#lost += 1;
  }

  /**
   * Sets the sequences that are behind, if they are to be looked at, or `now`. Waits if that is under way.
   * @param database its statements do not come here
   * @returns true if one was behind
   */
  async check(database: Statements, now = false): Promise<boolean> {
    if (this.#running !== null) {
      const wereBehind = await this.#running;
      if (wereBehind || !now) return wereBehind;
    }
    if (this.#lost === this.#checked && !now) return false;
    const lost = this.#lost;
    this.#running = setSequences(database, this.#schema);
    try {
      const wereBehind = await this.#running;
      this.#checked = lost;
      return wereBehind;
    } finally {
      this.#running = null;
    }
  }
}

type Statements = Pick<Database, 'query' | 'transaction'>;

/**
 * Sets each sequence of the mirror's tables that is behind its table to the table's highest id. Logical
 * replication copies no sequences, nor does a restore of rows alone. New rows would get ids that are in use,
 * or lower ones than older rows have.
 * @returns true if a sequence was behind
 */
async function setSequences(database: Statements, schema: string): Promise<boolean> {
  if ((await sequencesBehind(database, schema)).length === 0) return false;
  await database.transaction(async (tx) => {
    for (const { sequence, highest } of await sequencesBehind(tx, schema))
      await tx.query(`SELECT setval(CAST($1 AS text)::regclass, $2)`, sequence, highest);
  }, ALONE);
  return true;
}

/**
 * Other tables of the schema are another program's. Sequences that the role may not read and set are left
 * out: to take ids from them, it needs no such right.
 */
async function sequencesBehind(sql: Pick<Sql, 'query'>, schema: string): Promise<Behind[]> {
  const columns = await sql.query<{ table: string; column: string; sequence: string }>(
    `WITH serial AS MATERIALIZED (
       SELECT format('%I.%I', nspname, relname) AS "table", quote_ident(attname) AS "column",
         substring(pg_get_expr(adbin, adrelid) FROM 'nextval\\(''(.+)''::regclass\\)') AS sequence
       FROM pg_attrdef
       JOIN pg_class ON pg_class.oid = adrelid
       JOIN pg_namespace ON pg_namespace.oid = relnamespace
       JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
       WHERE nspname = $1 AND relname = ANY(string_to_array($2, ',')))
     SELECT * FROM serial
     WHERE has_sequence_privilege(sequence, 'SELECT') AND has_sequence_privilege(sequence, 'UPDATE')`,
    schema,
    Object.keys(TABLE_SENTENCES).join(','),
  );
  if (columns.length === 0) return [];
  const states = columns.map(
    ({ table, column, sequence }, index) =>
      `SELECT ${index} AS place, (SELECT COALESCE(max(${column}), 0) FROM ${table}) AS highest,
         (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ${sequence}) AS last`,
  );
  const rows = await sql.query<{ place: number; highest: number; last: number }>(states.join(' UNION ALL '));
  return rows
    .filter(({ highest, last }) => last < highest)
    .map(({ place, highest }) => ({ sequence: columns[place]!.sequence, highest }));
}

/** True if a row was refused because another one has its id. */
export function isTakenId(thrown: unknown): boolean {
  return thrown instanceof Error && codeIn(thrown) === '23505';
}

export function sequencesWereBehind(thrown: unknown, name: string): MirrorError {
  return new MirrorError(
    'DATABASE',
    `The database ${name} gave new rows ids that older ones have: its sequences were behind its tables, as ` +
      'after a restore or a switch of servers that leaves them out. They are set now, and nothing is lost. ' +
      'Run the command again.',
    { cause: thrown },
  );
}
