import { VIEW_NAMES } from '../catalogue.ts';
import type { Dialect } from '../dialect.ts';
import { iso, UTC } from '../instants.ts';
import type { ValueKind } from '../columns.ts';

/** Characters of an instant as SQLite stores it. */
const STORED_LENGTH = iso(0).length;

const TYPES: Readonly<Record<ValueKind, string>> = {
  text: 'TEXT',
  day: 'TEXT',
  integer: 'INTEGER',
  number: 'REAL',
  boolean: 'BOOLEAN',
  instant: 'DATETIME',
  json: 'JSONB',
};

/** Columns whose declared type no CAST gives. */
const OF_TYPE: Partial<Record<ValueKind, string>> = {
  boolean: 'is_lower_bound FROM status_spans',
  instant: 'from_at FROM status_spans',
  json: 'item_values FROM changes',
};

const IS_PROGRAMS_VIEW = `type = 'view' AND name IN (${VIEW_NAMES.map((name) => `'${name}'`).join(', ')})`;

function columnsWhere(condition: string): string {
  return `SELECT master.name, master.type AS kind, info.name AS column_name, info.type AS type
    FROM (SELECT name, type FROM sqlite_master WHERE ${condition}) AS master,
      pragma_table_info(master.name) AS info
    ORDER BY master.name, info.cid`;
}

interface Uses {
  readonly text: string;
  /** For each `?` the index of its parameter. */
  readonly uses: readonly number[];
}

/** At most 300 texts: a program runs few different statements, each of them often. */
const MOST_TEXTS = 300;

const texts = new Map<string, Uses>();

/**
 * A parameter that does not take part in the choice of the query plan. The driver's SQLite has STAT4: after
 * each change of a bare `?` in a condition it compiles the statement again, which takes ten times as long as
 * a lookup by an index (docs/decisions/0005).
 */
const PARAMETER = 'coalesce(?, NULL)';

/** The driver treats `$1` as a named parameter. Each use becomes `?`, with its value in order. */
function usesIn(sql: string): Uses {
  const known = texts.get(sql);
  if (known !== undefined) return known;
  const uses: number[] = [];
  const text = sql.replaceAll(/\$(\d+)/g, (_use, number: string) => {
    uses.push(Number(number) - 1);
    return PARAMETER;
  });
  if (texts.size >= MOST_TEXTS) texts.clear();
  const found = { text, uses };
  texts.set(sql, found);
  return found;
}

export const sqlite: Dialect = {
  provider: 'sqlite',
  bind: (sql, parameters) => {
    const { text, uses } = usesIn(sql);
    return { sql: text, values: uses.map((index) => parameters[index]) };
  },
  tableNames: `SELECT name FROM sqlite_master WHERE type = 'table'`,
  records: (parameter, columns, alias) => {
    const fields = Object.entries(columns).map(([name, kind]) => {
      // `->>` returns an SQL value: 1 for true, and a text without its JSON quotes.
      const value = `value ->> '$.${name}'`;
      return `${kind === 'instant' ? `replace(${value}, 'Z', '${UTC}')` : value} AS ${name}`;
    });
    return `(SELECT ${fields.join(', ')} FROM json_each(${parameter})) AS ${alias}`;
  },
  texts: (json, alias) => `json_each(${json}) AS ${alias}`,
  oneOfFew: (column, values) => `${column} IN (${values})`,
  noneOf: (column, values) => `${column} NOT IN (${values})`,
  jsonObject: (fields) => `json_object(${fields.map(([name, value]) => `'${name}', ${value}`).join(', ')})`,
  // ORDER BY inside the aggregate needs SQLite 3.44. Other programs may have an older one.
  jsonTexts: (query) => `json((SELECT json_group_array(value) FROM (${query} ORDER BY value)))`,
  instantText: (column) => `replace(${column}, '${UTC}', 'Z')`,
  millisecondsBetween: (from, to) => `ROUND((julianday(${to}) - julianday(${from})) * 86400000)`,
  dayOf: (at, now) => `(SELECT days.day FROM report_days AS days
    WHERE days.starts_at <= ${at} AND days.starts_at <= ${now} ORDER BY days.starts_at DESC LIMIT 1)`,
  // All stored instants have one length: the least text has the earliest one. NULL || text is null.
  firstOf: (value, at) => `substr(min(${at} || ${value}), ${STORED_LENGTH + 1})`,
  lastOf: (value, at) => `substr(max(${at} || ${value}), ${STORED_LENGTH + 1})`,
  inSmallLetters: (text) => `lower(${text})`,
  // A process uses its one connection in turn. A transaction's first write locks out the other processes.
  lock: () => null,
  beginMigration: ['BEGIN IMMEDIATE'],
  instantAgo: (seconds, now) =>
    `strftime('%Y-%m-%dT%H:%M:%f${UTC}', '${now ?? 'now'}', '-${seconds} seconds')`,
  readBy: (index) => `INDEXED BY ${index}`,
  // CROSS JOIN keeps the order.
  lookUp: (table, alias, condition) => `CROSS JOIN ${table} AS ${alias} ON ${condition}`,
  // A column that has its type stays as it is: no index serves a condition on a CAST. The second SELECT of a
  // scalar subquery, which finds no row, lends the first its declared type.
  declared: (column, kind, type) => {
    if (type === TYPES[kind]) return column;
    const lender = OF_TYPE[kind];
    if (lender === undefined) return `CAST(${column} AS ${TYPES[kind]})`;
    return `(SELECT ${column} UNION ALL SELECT ${lender} WHERE FALSE)`;
  },
  allColumns: columnsWhere(`type = 'table' OR ${IS_PROGRAMS_VIEW}`),
  ownViews: {
    names: `SELECT name FROM sqlite_master WHERE type = 'view' AND NOT (${IS_PROGRAMS_VIEW}) ORDER BY name`,
    columns: columnsWhere('name = $1'),
  },
  comments: null,
  maintenance: ['PRAGMA optimize', 'PRAGMA wal_checkpoint(TRUNCATE)'],
};
