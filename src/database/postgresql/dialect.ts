import type { Dialect, RecordKind } from '../dialect.ts';
import { commentsSql } from './comments.ts';
import { BEGIN_MIGRATION } from './migrating.ts';

const TYPES: Record<RecordKind, string> = {
  text: 'text',
  boolean: 'boolean',
  instant: 'timestamptz',
  day: 'date',
  json: 'text',
  integer: 'integer',
};

/**
 * Locks a row of `settings` until the transaction ends, and creates it if it is missing. The row is locked
 * even though it is not updated. A role that may only read cannot lock rows; an advisory lock would be open
 * to everyone who may connect (docs/decisions/0006).
 */
function lock(name: string): string {
  return `INSERT INTO settings (name, value) VALUES ('lock ${name}', 'null')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE false`;
}

/** An aggregate: the first text `value` in this order that is not null. */
function firstInOrder(value: string, order: string): string {
  return `(array_agg(${value} ORDER BY ${order}) FILTER (WHERE ${value} IS NOT NULL))[1]`;
}

export const postgresql: Dialect = {
  provider: 'postgresql',
  bind: (sql, parameters) => {
    // PostgreSQL requires numbers without gaps. Statements that are built from parts may not use every
    // parameter.
    const used: string[] = [];
    const value = (number: string): unknown => parameters[Number(number) - 1];
    // No index serves IS NOT DISTINCT FROM. The value is known here, so a plain condition replaces it, which
    // below a NOT is no more true for a NULL of the row.
    const plain = sql.replaceAll(/IS NOT DISTINCT FROM \$(\d+)/g, (_use, number: string) =>
      value(number) === null ? 'IS NULL' : `= $${number}`,
    );
    const text = plain.replaceAll(/\$(\d+)/g, (_use, number: string) => {
      if (!used.includes(number)) used.push(number);
      return `$${used.indexOf(number) + 1}`;
    });
    return { sql: text, values: used.map((number) => storable(value(number))) };
  },
  tableNames: `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`,
  records: (parameter, columns, alias) => {
    const names = Object.keys(columns);
    const fields = names.map((name) =>
      columns[name] === 'json' ? `CAST(${name} AS jsonb) AS ${name}` : name,
    );
    const types = names.map((name) => `${name} ${TYPES[columns[name] ?? 'text']}`);
    const records = `jsonb_to_recordset(CAST(${parameter} AS jsonb)) AS records(${types.join(', ')})`;
    return `(SELECT ${fields.join(', ')} FROM ${records}) AS ${alias}`;
  },
  texts: (json, alias) => `jsonb_array_elements_text(CAST(${json} AS jsonb)) AS ${alias}(value)`,
  // For IN, the planner expects many values and reads the whole table.
  oneOfFew: (column, values) => `${column} = ANY (ARRAY(${values}))`,
  // NOT IN would compare each row with each value if the values do not fit into `work_mem`.
  noneOf: (column, values) =>
    `NOT EXISTS (SELECT FROM (${values}) AS those(value) WHERE those.value = ${column})`,
  jsonObject: (fields) =>
    `jsonb_build_object(${fields.map(([name, value]) => `'${name}', ${value}`).join(', ')})`,
  jsonTexts: (query) =>
    `coalesce((SELECT jsonb_agg(value ORDER BY value COLLATE "C") FROM (${query}) AS texts), '[]')`,
  instantText: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  millisecondsBetween: (from, to) => {
    const interval = `CAST(${to} AS timestamptz) - CAST(${from} AS timestamptz)`;
    // EXTRACT would compute with numeric, which is slower. A double holds the milliseconds exactly.
    return `ROUND(date_part('epoch', ${interval}) * 1000)`;
  },
  // The arrays are made once for a query. To search one is much faster than an index scan for each instant.
  dayOf: (at, now) => {
    const days = (column: string): string =>
      `ARRAY(SELECT ${column} FROM report_days WHERE starts_at <= ${now} ORDER BY starts_at)`;
    return `(${days('day')})[width_bucket(${at}, ${days('starts_at')})]`;
  },
  firstOf: (value, at) => firstInOrder(value, `${at}, ${value} COLLATE "C"`),
  lastOf: (value, at) => firstInOrder(value, `${at} DESC, ${value} COLLATE "C" DESC`),
  // The collation C knows small letters for A to Z only.
  inSmallLetters: (text) => `lower(${text} COLLATE "C")`,
  instantAgo: (seconds, now) => {
    const instant = now === null ? 'now()' : `CAST('${now}' AS timestamptz)`;
    return seconds === 0 ? `(${instant})` : `(${instant} - INTERVAL '${seconds} seconds')`;
  },
  readBy: () => '',
  // OFFSET 0 keeps the planner from turning the subquery into a join that reads the whole table.
  lookUp: (table, alias, condition) =>
    `CROSS JOIN LATERAL (SELECT * FROM ${table} AS ${alias} WHERE ${condition} OFFSET 0) AS ${alias}`,
  declared: null,
  comments: commentsSql,
  allColumns: `SELECT relname AS name, CASE WHEN relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS kind,
      attname AS column_name, format_type(atttypid, atttypmod) AS type
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v', 'm') AND attnum > 0 AND NOT attisdropped
    ORDER BY relname, attnum`,
  ownViews: null,
  lock,
  beginMigration: BEGIN_MIGRATION,
  // Autovacuum does this.
  maintenance: [],
};

/**
 * Replaces null characters, which PostgreSQL refuses in texts. Texts of the service have none left
 * (core/json.ts).
 */
function storable(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value;
}
