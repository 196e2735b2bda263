import type { Dialect } from '../dialect.ts';
import { UTC } from '../instants.ts';

export const sqlite: Dialect = {
  provider: 'sqlite',
  bind: (sql, parameters) => {
    const values: unknown[] = [];
    // The driver treats `$1` as a named parameter. Each use becomes `?`, with its value in order.
    const text = sql.replaceAll(/\$(\d+)/g, (_use, number: string) => {
      values.push(parameters[Number(number) - 1]);
      return '?';
    });
    return { sql: text, values };
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
  millisecondsBetween: (from, to) => `ROUND((julianday(${to}) - julianday(${from})) * 86400000)`,
  lowered: (text) => `lower(${text})`,
  // A process uses its one connection in turn. A transaction's first write locks out the other processes.
  lock: () => null,
  beginMigration: ['BEGIN IMMEDIATE'],
  instantAgo: (seconds, now) =>
    `strftime('%Y-%m-%dT%H:%M:%f${UTC}', '${now ?? 'now'}', '-${seconds} seconds')`,
  readBy: (index) => `INDEXED BY ${index}`,
  allColumns: `SELECT master.name, master.type AS kind, info.name AS column_name,
      info.type AS type
    FROM sqlite_master AS master, pragma_table_info(master.name) AS info
    WHERE master.type IN ('table', 'view') ORDER BY master.name, info.cid`,
  maintenance: ['PRAGMA optimize', 'PRAGMA wal_checkpoint(TRUNCATE)'],
};
