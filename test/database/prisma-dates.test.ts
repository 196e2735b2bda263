import Sqlite from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import type { Sql } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';
import { keepViewSettings } from '../../src/mirror/settings/views.ts';
import { markDue } from '../../src/sync/planning/due.ts';
import { cronsOfAll } from '../support/crons.ts';
import { temporaryDatabase, type TestMirror } from '../support/mirror.ts';
import {
  byPrisma,
  bySql,
  type Column,
  type Delegate,
  epochMs,
  type Field,
  type Model,
  modelsOf,
  sorted,
  stockClient,
} from '../support/prisma-dates.ts';
import { ON_SQLITE, onServer } from '../support/provider.ts';
import { firstIds, firstInbox, nthInbox, tampered } from '../support/rows.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';

/** Pairs that are 1 ms apart, on the borders of seconds, days, months, years and the epoch; one repeats. */
const INSTANTS = [
  '0001-01-01T00:00:00.000Z',
  '1969-12-31T23:59:59.999Z',
  '1970-01-01T00:00:00.000Z',
  '2024-02-29T23:59:59.999Z',
  '2024-03-01T00:00:00.000Z',
  '2025-12-31T23:59:59.999Z',
  '2026-01-01T00:00:00.000Z',
  '2026-01-01T00:00:00.001Z',
  '2026-11-21T07:59:59.999Z',
  '2026-11-21T08:00:00.000Z',
  '2026-11-21T08:00:00.000Z',
  '2026-11-21T08:00:00.001Z',
  '2026-11-30T23:59:59.999Z',
  '2026-12-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
].map((text) => Date.parse(text));

/** A column's filters are given every fourth instant. Four columns in a row are given all of them. */
const STEP = 4;

/** Rows without an instant where a column permits it. */
const NULLS = 2;

/** Prisma's filter and the SQL condition that must find the same rows; `$1` and `$2` are epoch ms. */
const FILTERS: Readonly<Record<string, [filter: (at: Date, other: Date) => unknown, condition: string]>> = {
  equals: [(at) => ({ equals: at }), '= $1'],
  not: [(at) => ({ not: at }), '<> $1'],
  in: [(at, other) => ({ in: [at, other] }), 'IN ($1, $2)'],
  notIn: [(at, other) => ({ notIn: [at, other] }), 'NOT IN ($1, $2)'],
  lt: [(at) => ({ lt: at }), '< $1'],
  lte: [(at) => ({ lte: at }), '<= $1'],
  gt: [(at) => ({ gt: at }), '> $1'],
  gte: [(at) => ({ gte: at }), '>= $1'],
};

/** Instants that a filter has found, epoch ms, by the filter and its instant. */
type Answers = Record<string, (number | null)[]>;

const MODELS = modelsOf();
const TABLES = MODELS.filter(({ kind }) => kind === 'model');

function datesOf({ fields }: Model): Field[] {
  return fields.filter(({ type }) => type === 'DateTime');
}

/** A mirror with a row for each of `INSTANTS` in every table, and rows with every possible null. */
async function filledMirror(): Promise<{ place: string; database: Sql }> {
  const place = await freshMirrorFile();
  const database = await temporaryDatabase(place);
  for (const { name, fields } of TABLES) {
    for (let nth = 0; nth < INSTANTS.length + NULLS; nth++) {
      const values = fields.map((field) => valueOf(field, nth));
      const places = values.map((_value, index) => `$${index + 1}`);
      const names = fields.map((field) => `"${field.name}"`);
      await database.execute(`INSERT INTO ${name} (${names.join()}) VALUES (${places.join()})`, ...values);
    }
  }
  return { place, database };
}

/** The nth value of a column. The columns of one row have different instants. */
function valueOf({ name, type, optional }: Field, nth: number): unknown {
  if (type === 'DateTime') {
    if (nth >= INSTANTS.length && optional) return null;
    return iso(INSTANTS[(nth + name.length) % INSTANTS.length]!);
  }
  if (type === 'Int' || type === 'Float') return nth + 1;
  if (type === 'Boolean') return nth % 2 === 0;
  // The column of PostgreSQL is a date.
  if (name === 'day') return `2026-01-${String(nth + 1).padStart(2, '0')}`;
  return type === 'Json' ? '{}' : `${name} ${nth}`;
}

/**
 * The answers of Prisma's filters to every fourth instant from `first` on, and those of SQL. SQL answers all
 * of them with one query: thousands of single queries would take most of the test's time.
 */
async function filtered(sql: Sql, delegate: Delegate, { table, column }: Column, first: number) {
  const prisma: Answers = {};
  const conditions: string[] = [];
  for (let nth = first; nth < INSTANTS.length; nth += STEP) {
    const [at, other] = [INSTANTS[nth]!, INSTANTS[(nth + 5) % INSTANTS.length]!];
    for (const [name, [filter, condition]] of Object.entries(FILTERS)) {
      const label = `${name} ${new Date(at).toISOString()}`;
      const where = { [column]: filter(new Date(at), new Date(other)) };
      prisma[label] = sorted(await byPrisma(delegate, column, { where }));
      const numbers = condition.replace('$1', String(at)).replace('$2', String(other));
      conditions.push(`SELECT '${label}' AS label, at FROM instants WHERE at ${numbers}`);
    }
  }
  const rows = await sql.query<{ label: string; at: number }>(
    `WITH instants AS (SELECT ${epochMs(column)} AS at FROM ${table}) ${conditions.join(' UNION ALL ')}`,
  );
  const byLabel = Map.groupBy(rows, ({ label }) => label);
  const found = (label: string): number[] => byLabel.get(label)?.map(({ at }) => at) ?? [];
  const wanted = Object.fromEntries(Object.keys(prisma).map((label) => [label, sorted(found(label))]));
  return { prisma, sql: wanted };
}

/** The differences of all pairs of JS dates and of SQL's instants, ms, ascending. */
async function differences(sql: Sql, delegate: Delegate, { table, column }: Column) {
  const dates = (await byPrisma(delegate, column)).filter((at) => at !== null);
  const rows = await sql.query<{ ms: number }>(
    `SELECT ${epochMs(`later.${column}`)} - ${epochMs(`earlier.${column}`)} AS ms
     FROM ${table} AS earlier, ${table} AS later
     WHERE earlier.${column} IS NOT NULL AND later.${column} IS NOT NULL`,
  );
  return {
    prisma: sorted(dates.flatMap((earlier) => dates.map((later) => later - earlier))),
    sql: sorted(rows.map(({ ms }) => ms)),
  };
}

/** Compares Prisma's answers about one column with SQL's. @param first the first instant of its filters */
async function compare(
  sql: Sql,
  delegate: Delegate,
  { name: table }: Model,
  { field, first }: { field: Field; first: number },
): Promise<void> {
  const column = field.name;
  const title = `${table}.${column}`;
  const { prisma, sql: wanted } = await filtered(sql, delegate, { table, column }, first);
  expect(prisma, title).toEqual(wanted);
  for (const order of ['asc', 'desc'] as const)
    expect(await byPrisma(delegate, column, { orderBy: { [column]: order } }), title).toEqual(
      await bySql(sql, { table, column }, `ORDER BY ${epochMs(column)} ${order}`),
    );
  const spans = await differences(sql, delegate, { table, column });
  expect(spans.prisma, title).toEqual(spans.sql);
  // The instants are those that were written.
  expect(sorted(await bySql(sql, { table, column })).filter((at) => at !== null)).toEqual(
    expect.arrayContaining(INSTANTS),
  );
  if (!field.optional) return;
  for (const [filter, kept] of [
    ['equals', NULLS],
    ['not', INSTANTS.length],
  ] as const)
    expect(await byPrisma(delegate, column, { where: { [column]: { [filter]: null } } }), title).toHaveLength(
      kept,
    );
}

/** A mirror in which the program has written every date column of every table. */
async function usedMirror(place: string): Promise<TestMirror> {
  let gone = '';
  const mirror = await quickMirror({
    path: place,
    sandbox: { conversations: [25, 8], usersPerInbox: 4, tagsPerInbox: 4, idType: 'string' },
    wrapHttp: tampered((page, path) => {
      // A user without an id becomes a reject.
      if (path === `/inboxes/${gone}/users`) page.results.unshift({ id: null });
    }),
  });
  const { clock, database, sandbox, writer } = mirror;
  const { world } = sandbox;
  const inbox = firstInbox(sandbox);
  gone = nthInbox(sandbox, 1).id;
  await mirror.sync();
  clock.advance(3_600_001);
  sandbox.applyEvents(20);
  await mirror.sync();
  clock.advance(3_600_001);
  for (const id of firstIds(inbox.conversations, 3)) world.removeConversation(inbox.id, id);
  for (const id of firstIds(inbox.conversations, 1))
    Object.assign(world.conversation(inbox.id, id), { status: 'open', assignee: null });
  for (const id of firstIds(inbox.users, 1)) world.removeUser(inbox.id, id);
  for (const id of firstIds(inbox.tags, 1)) world.removeTag(inbox.id, id);
  const [unlisted = ''] = firstIds(inbox.conversations, 1, 4);
  world.unlistConversation(inbox.id, unlisted);
  world.removeInbox(gone);
  // The first pass suspects, the next one has the second witness.
  for (let pass = 0; pass < 2; pass++) {
    await mirror.sync();
    clock.advance(3_600_001);
  }
  // An answer for an unlisted row that decides nothing.
  sandbox.script(({ path }) => (path.endsWith(`/${unlisted}`) ? { status: 403 } : undefined));
  clock.advance(13 * HOUR);
  await mirror.sync();
  const [now, soon] = [new Date(clock.now()), new Date(clock.now() + 60_001)];
  await keepViewSettings(
    database,
    {
      reportTimezone: 'UTC',
      budget: { perDay: 5000, reserved: 250 },
      officeHours: { timezone: 'UTC', week: [[[540, 1020]], [], [], [], [], [], []] },
    },
    clock.now(),
  );
  await writer.countDays(clock.now() + DAY);
  const crons = cronsOfAll('* * * * *');
  await markDue(writer.schedules, crons, clock.now());
  await writer.keepSlots(crons, clock.now());
  await writer.deliveries.write(
    'target',
    { lastId: 1, failures: 1, retryAt: soon, cause: '503', setAside: 0, setAsideId: null },
    clock.now(),
  );
  const sweep = await writer.sweeps.open({ list: 'users', inboxId: '1' }, 'schedule', clock.now());
  await writer.sweeps.end(sweep.id, 'paused', { error: '503', code: null, retryAt: soon }, clock.now());
  const access = { address: 'http://other.example/v1', fingerprint: 'other' };
  await writer.refuseAccount(access, 'another account', { now: now.getTime(), until: soon.getTime() });
  await writer.writeOutage({ since: now, until: soon, cause: 'ECONNREFUSED' });
  await writer.ledger.refuseKey('key', '401', clock.now());
  await writer.ledger.pauseGate(1, () => soon.getTime(), '429', clock.now(), 100);
  await writer.saveRates([{ name: 'arrivals/1', events: 1, hours: 2, updatedAt: clock.now() }]);
  const [bookmark] = [...(await writer.bookmarks.all()).values()].flat();
  await writer.bookmarks.lose(bookmark!, 'doubt', clock.now());
  await writer.ledger.followClock(await clock.ledgerTime());
  clock.reboot(60 * 60_000);
  await writer.ledger.followClock(await clock.ledgerTime());
  return mirror;
}

describe('a user’s Prisma client gets the answers of SQL from every date column', () => {
  test('in every table', async () => {
    const { place, database } = await filledMirror();
    const client = stockClient(place);
    const columns = TABLES.flatMap((model) => datesOf(model).map((field) => ({ model, field })));
    expect(columns.length).toBeGreaterThan(40);
    for (const [nth, { model, field }] of columns.entries())
      await compare(database, client[model.name]!, model, { field, first: nth % STEP });
  });

  test('in the rows that the program itself has written', async () => {
    const place = await freshMirrorFile();
    const { database } = await usedMirror(place);
    const client = stockClient(place);
    const empty: string[] = [];
    for (const model of MODELS)
      for (const { name: column } of datesOf(model)) {
        const title = `${model.name}.${column}`;
        const instants = await bySql(database, { table: model.name, column });
        const distinct = [...new Set(instants.filter((at) => at !== null))];
        if (distinct.length === 0 && model.kind === 'model') empty.push(title);
        const delegate = client[model.name]!;
        expect(sorted(await byPrisma(delegate, column)), title).toEqual(sorted(instants));
        for (const at of distinct.slice(0, 10)) {
          const where = { [column]: new Date(at) };
          const wanted = instants.filter((one) => one === at);
          expect(await byPrisma(delegate, column, { where }), title).toEqual(wanted);
        }
      }
    expect(empty, 'columns without a value').toEqual([]);
  });

  test.skipIf(ON_SQLITE)('on a server outside of UTC, if the connection sets the time zone', async () => {
    const { place, database } = await filledMirror();
    const name = new URL(place).pathname.slice(1);
    await onServer(`ALTER DATABASE ${name} SET TimeZone = 'Asia/Kolkata'`);
    const changes = TABLES.find((model) => model.name === 'changes')!;
    const [field] = datesOf(changes);
    const delegates = [
      stockClient(place),
      stockClient(`${place}?options=-c%20TimeZone%3DUTC`),
      stockClient(place, '-c TimeZone=UTC'),
    ].map((client) => client['changes']!);
    const [plain, ...inUtc] = delegates;
    const answers = await filtered(database, plain!, { table: 'changes', column: field!.name }, 0);
    expect(answers.prisma).not.toEqual(answers.sql);
    for (const [first, delegate] of inUtc.entries())
      await compare(database, delegate, changes, { field: field!, first });
  });
});

test.runIf(ON_SQLITE)('every instant in a view has the form of the tables', async () => {
  const place = await freshMirrorFile();
  await usedMirror(place);
  const database = new Sqlite(place, { readonly: true });
  onTestFinished(() => void database.close());
  const seen = new Set<string>();
  for (const view of VIEW_NAMES) {
    for (const row of database.prepare<[], unknown[]>(`SELECT * FROM ${view}`).raw().iterate()) {
      for (const value of row) {
        if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT/.test(value)) continue;
        expect(value, view).toMatch(/T\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
        seen.add(view);
      }
    }
  }
  const withDates = MODELS.filter((model) => model.kind === 'view' && datesOf(model).length > 0);
  expect([...seen].sort()).toEqual(withDates.map(({ name }) => name).sort());
});
