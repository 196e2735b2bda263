import { expect, test } from 'vitest';
import { asJson } from '../../src/query/cells.ts';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import { valueKinds, type ValueKind } from '../../src/database/columns.ts';
import { openDatabase } from '../../src/database/open.ts';
import { dropViews } from '../../src/database/views/views.ts';
import { openMirror } from '../../src/library/library.ts';
import { openReadOnly } from '../../src/query/open.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { ON_SQLITE, urlOf } from '../support/provider.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { ask } from './support.ts';

/** The declared types that a column of each kind may have. */
const DECLARED: Record<ValueKind, RegExp> = ON_SQLITE
  ? {
      text: /^TEXT$/,
      day: /^TEXT$/,
      integer: /^INT(EGER)?$/,
      number: /^REAL$/,
      boolean: /^BOOLEAN$/,
      instant: /^DATETIME$/,
      json: /^JSONB$/,
    }
  : {
      text: /^text$/,
      day: /^date$/,
      integer: /^(integer|bigint)$/,
      number: /^double precision$/,
      boolean: /^boolean$/,
      instant: /^timestamp(\(3\))? with time zone$/,
      json: /^jsonb$/,
    };

test('every column of every view has a declared type, that of its kind', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const kinds = valueKinds(database.dialect);
  const columns = await database.query<{ name: string; kind: string; column_name: string; type: string }>(
    database.dialect.allColumns,
  );
  const ofViews = columns.filter(({ kind }) => kind === 'view');
  expect(new Set(ofViews.map(({ name }) => name))).toEqual(new Set(VIEW_NAMES));
  for (const { name, column_name: column, type } of ofViews) {
    const kind = kinds.get(name)?.get(column);
    expect(kind, `${name}.${column}`).toBeDefined();
    expect(type, `${name}.${column}`).toMatch(DECLARED[kind!]);
  }
});

/** The ways in which a plan finds rows by an index of a table. SQLite makes automatic ones for small results. */
function searches(plan: readonly { detail: string }[]): string[] {
  const found = plan.flatMap(({ detail }) => (/^SEARCH (?!.*AUTOMATIC)/.test(detail) ? [detail] : []));
  return [...new Set(found)].sort();
}

test.skipIf(!ON_SQLITE)('the declared types of a view keep no condition from an index', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const views = await database.query<{ name: string; sql: string }>(
    `SELECT name, sql FROM sqlite_master WHERE type = 'view'`,
  );
  const withBody = views.flatMap(({ name, sql }) => {
    const body = /\nFROM \(\n(.*)\) AS body$/s.exec(sql)?.[1];
    return body === undefined ? [] : [{ name, body }];
  });
  expect(withBody).toHaveLength(VIEW_NAMES.length);
  const kinds = valueKinds(database.dialect);
  let compared = 0;
  for (const { name, body } of withBody) {
    await database.execute(`CREATE VIEW plain_${name} AS ${body}`);
    const columns = [...(kinds.get(name)?.keys() ?? [])].map((column) => [column]);
    for (const those of [...columns, ['inbox_id', 'conversation_id']]) {
      if (!those.every((column) => kinds.get(name)?.has(column))) continue;
      const where = those.map((column) => `"${column}" = 'x'`).join(' AND ');
      const plans = [`plain_${name}`, name].map((view) =>
        database.query<{ detail: string }>(`EXPLAIN QUERY PLAN SELECT * FROM ${view} WHERE ${where}`),
      );
      const [plain, declared] = await Promise.all(plans);
      expect({ name, where, found: searches(declared!) }).toEqual({ name, where, found: searches(plain!) });
      compared += searches(plain!).length;
    }
  }
  expect(compared).toBeGreaterThan(100);
});

test('a day, an instant and a boolean of a view have one form in JSON and in the typed client', async () => {
  const path = await freshMirrorFile();
  const mirror = await quickMirror({ path, sandbox: { conversations: [3], idType: 'string' } });
  await mirror.sync();
  mirror.clock.advance(60_000);
  const [direct] = await ask(mirror, 'SELECT count(*) AS n FROM backlog_daily JOIN report_days USING (day)');
  expect(direct!['n']).toBeGreaterThan(0);
  const reader = await openReadOnly(urlOf(path));
  const first = async (sql: string): Promise<unknown[]> => {
    const { columns, rows } = await reader.query(sql);
    for await (const row of rows) return row.map((cell, at) => asJson(cell, columns[at]!.isJson));
    throw new Error('no row');
  };
  expect(await first(`SELECT day FROM backlog_daily WHERE day >= '2026-03-02'`)).toEqual(['2026-03-02']);
  for (const view of [
    'status_intervals',
    'time_in_status',
    'oldest_open',
    'assignments',
    'conversation_facts',
  ])
    expect(await first(`SELECT is_lower_bound AS one FROM ${view}`), view).toEqual([true]);
  await reader.close();
  const typed = await openMirror(urlOf(path));
  const days = await typed.prisma.backlog_daily.findMany({ where: { day: { gte: '2026-03-02' } } });
  expect(new Set(days.map(({ day }) => day))).toEqual(new Set(['2026-03-02']));
  expect(await typed.prisma.report_days.findUnique({ where: { day: '2026-03-02' } })).toMatchObject({
    day: '2026-03-02',
  });
  await typed.close();
});

test.skipIf(ON_SQLITE)('the days of an earlier release become dates when the mirror is opened', async () => {
  const path = await freshMirrorFile();
  const mirror = await quickMirror({ path, sandbox: { conversations: [3], idType: 'string' } });
  await mirror.sync();
  const before = await ask(mirror, 'SELECT day, starts_at, ends_at FROM report_days ORDER BY day');
  const { database } = mirror;
  await dropViews(database);
  await database.execute('ALTER TABLE report_days ALTER COLUMN day TYPE TEXT');
  await database.execute(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '%days_as_dates'`);
  await (await openDatabase(urlOf(path))).close();
  const [type] = await database.query(
    `SELECT type FROM (${database.dialect.allColumns}) AS c WHERE name = 'report_days' AND column_name = 'day'`,
  );
  expect(type).toEqual({ type: 'date' });
  expect(before.length).toBeGreaterThan(30);
  expect(await ask(mirror, 'SELECT day, starts_at, ends_at FROM report_days ORDER BY day')).toEqual(before);
});

test.skipIf(ON_SQLITE)('PostgreSQL computes with the days of the views', async () => {
  const path = await freshMirrorFile();
  const mirror = await quickMirror({ path, sandbox: { conversations: [3], idType: 'string' } });
  await mirror.sync();
  const weeks = await ask(
    mirror,
    `SELECT CAST(date_trunc('week', day) AS date) AS week, CAST(day + 1 AS text) AS tomorrow FROM flow_daily`,
  );
  expect(weeks).toEqual([{ week: '2026-03-02', tomorrow: '2026-03-03' }]);
});
