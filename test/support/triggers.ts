import type { Sql } from '../../src/database/database.ts';
import { ON_SQLITE } from './provider.ts';

export interface Trigger {
  readonly name: string;
  readonly when: 'BEFORE' | 'AFTER';
  readonly verb: 'INSERT' | 'UPDATE' | 'DELETE';
  readonly table: string;
  /** A statement that runs for each row. */
  readonly does?: string;
  /** A condition on the `NEW` row. The write of a row that meets it fails. */
  readonly refuses?: string;
}

/** Makes the database run a statement for each written row, or refuse the row. */
export async function addTrigger(
  sql: Sql,
  { name, when, verb, table, does = '', refuses = '' }: Trigger,
): Promise<void> {
  if (ON_SQLITE) {
    const condition = refuses === '' ? '' : `WHEN ${refuses}`;
    const body = refuses === '' ? does : `SELECT RAISE(ABORT, 'refused')`;
    await sql.execute(`CREATE TRIGGER ${name} ${when} ${verb} ON ${table} ${condition} BEGIN ${body}; END`);
    return;
  }
  const body = refuses === '' ? `${does};` : `IF ${refuses} THEN RAISE EXCEPTION 'refused'; END IF;`;
  const result = verb === 'DELETE' ? 'OLD' : 'NEW';
  await sql.execute(
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${body.replaceAll("'", "''")} RETURN ${result}; END'`,
  );
  await sql.execute(
    `CREATE TRIGGER ${name} ${when} ${verb} ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  );
}

export async function dropTrigger(sql: Sql, { name, table }: Pick<Trigger, 'name' | 'table'>): Promise<void> {
  await sql.execute(ON_SQLITE ? `DROP TRIGGER ${name}` : `DROP TRIGGER ${name} ON ${table}`);
}
