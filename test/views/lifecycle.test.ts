import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { dropViews } from '../../src/database/views/views.ts';
import { iso } from '../../src/database/instants.ts';
import { keepViewSettings } from '../../src/mirror/settings/views.ts';
import { startChild } from '../support/child.ts';
import { mirrorOf, newPlace, temporaryDatabase } from '../support/mirror.ts';
import { testProgram } from '../support/program.ts';
import { ON_SQLITE, urlOf } from '../support/provider.ts';
import { count, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

async function viewsOf(database: Database): Promise<string[]> {
  const { allColumns, ownViews } = database.dialect;
  const rows = await database.query<{ name: string; kind: string }>(allColumns);
  const own = ownViews === null ? [] : await database.query<{ name: string }>(ownViews.names);
  const views = [...rows.filter(({ kind }) => kind === 'view'), ...own];
  return [...new Set(views.map(({ name }) => name))].sort();
}

test('a new mirror has the views, and opening it again writes nothing', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  expect(await viewsOf(database)).toEqual([...VIEW_NAMES].sort());
  // On PostgreSQL, a recreated view has another oid.
  const version = async (): Promise<unknown> =>
    await database.query(
      ON_SQLITE
        ? 'PRAGMA data_version'
        : `SELECT relname, CAST(oid AS TEXT) AS oid FROM pg_class WHERE relkind = 'v' ORDER BY oid`,
    );
  const before = await version();
  await (await openDatabase(urlOf(path))).close();
  expect(await version()).toEqual(before);
});

test("opening the mirror replaces another release's views and keeps a view of the user", async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  await dropViews(database);
  await database.execute(`CREATE VIEW backlog_now AS SELECT 1 AS old`);
  await database.execute(`CREATE VIEW of_another_release AS SELECT 1 AS old`);
  await database.execute(`CREATE VIEW my_own AS SELECT count(*) AS n FROM conversations`);
  await database.execute(
    `INSERT INTO settings (name, value) VALUES ('views', '{"hash":"another","names":["backlog_now","of_another_release"]}')`,
  );
  await (await openDatabase(urlOf(path))).close();
  expect(await viewsOf(database)).toEqual([...VIEW_NAMES, 'my_own'].sort());
  expect(await database.query(`SELECT open FROM backlog_now`)).toEqual([]);
});

test.skipIf(ON_SQLITE)(
  "the program never drops a user's view on its own views: an error asks for it and nothing changes",
  async () => {
    const path = await freshMirrorFile();
    const database = await temporaryDatabase(path);
    await database.execute(`CREATE VIEW my_own AS SELECT open FROM backlog_now`);
    await database.execute(
      `UPDATE settings SET value = replace(value, '"hash":"', '"hash":"another ') WHERE name = 'views'`,
    );
    await expect(openDatabase(urlOf(path))).rejects.toMatchObject({
      code: 'DATABASE',
      message: expect.stringMatching(
        /views of your own.*cannot drop view backlog_now.*: view my_own depends on view backlog_now\)/,
      ) as unknown,
    });
    expect(await viewsOf(database)).toEqual([...VIEW_NAMES, 'my_own'].sort());
  },
);

test.skipIf(ON_SQLITE)('PostgreSQL has the text of every table, view and column as a comment', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  const commented = async (): Promise<Record<string, string | null>> => {
    const rows = await database.query<{ name: string; comment: string | null }>(
      `SELECT relname || coalesce('.' || attname, '') AS name, col_description(pg_class.oid, at) AS comment
       FROM pg_class CROSS JOIN LATERAL (
         SELECT 0 AS at, NULL AS attname UNION ALL SELECT attnum, attname FROM pg_attribute
         WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped) AS columns
       WHERE relkind IN ('r', 'v') AND relnamespace = CAST(current_schema() AS regnamespace)
         AND relname <> '_prisma_migrations'`,
    );
    return Object.fromEntries(rows.map(({ name, comment }) => [name, comment]));
  };
  const comments = await commented();
  expect(Object.keys(comments).length).toBeGreaterThan(300);
  expect(Object.entries(comments).filter(([, comment]) => comment === null)).toEqual([]);
  expect(comments).toMatchObject({
    conversations:
      'The conversations of each inbox. A conversation in two inboxes has a row in each. Key: `inbox_id`, `id`.',
    'assignee_workload.assignee':
      "first and last name, or the e-mail address; null: not in the inbox's list of users",
    'reopens.conversation_id': expect.stringMatching(/; joins `conversations`$/) as string,
  });
  await database.execute(`COMMENT ON TABLE conversations IS 'of another release'`);
  await database.execute(
    `UPDATE settings SET value = replace(value, 'hash":"', 'hash":"other ') WHERE name = 'views'`,
  );
  await (await openDatabase(urlOf(path))).close();
  expect(await commented()).toEqual(comments);
});

test('processes that create the views at the same time all succeed', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  await dropViews(database);
  const children = [1, 2, 3].map(() => startChild('open-only', urlOf(path)));
  expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(['complete', 'complete', 'complete']);
  expect(await viewsOf(database)).toEqual([...VIEW_NAMES].sort());
});

test('a mirror from before the views keeps its rows and gets the views when it is opened', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  await database.execute(
    `INSERT INTO schedules (list, expression, timezone, next_at) VALUES ('tags', '0 * * * *', 'UTC', '2026-03-02T08:00:00.000+00:00')`,
  );
  await dropViews(database);
  for (const undo of [
    'DROP TABLE settings',
    'DROP TABLE report_days',
    'DROP INDEX changes_life',
    'DROP INDEX changes_moves',
    'DROP INDEX conversations_inbox_id_status_deleted_at_assignee_id_id_idx',
    'CREATE INDEX conversations_inbox_id_status_idx ON conversations(inbox_id, status)',
    // The second makes the days of PostgreSQL dates.
    `DELETE FROM _prisma_migrations
     WHERE migration_name LIKE '%_views' OR migration_name LIKE '%_days_as_dates'`,
  ])
    await database.execute(undo);
  const migrated = await temporaryDatabase(path);
  expect(await viewsOf(migrated)).toEqual([...VIEW_NAMES].sort());
  expect(await count(migrated, 'schedules')).toBe(1);
});

test('a pending migration runs without the views, which are created again after it', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  // A view of the release before reads a column that the migration removes.
  for (const before of [
    'ALTER TABLE schedules ADD COLUMN due_before TEXT',
    'CREATE VIEW of_before AS SELECT due_before FROM schedules',
    `UPDATE settings SET value = replace(value, '"names":[', '"names":["of_before",') WHERE name = 'views'`,
    `DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_one_slot'`,
  ])
    await database.execute(before);
  await (await openDatabase(urlOf(path))).close();
  expect(await viewsOf(database)).toEqual([...VIEW_NAMES].sort());
});

test('a view of a person on a view of the mirror is named if a migration cannot keep it', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  for (const before of [
    'ALTER TABLE schedules ADD COLUMN due_before TEXT',
    'CREATE VIEW my_backlog AS SELECT open FROM backlog_now',
    `DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_one_slot'`,
  ])
    await database.execute(before);
  await expect(openDatabase(urlOf(path))).rejects.toMatchObject({
    code: 'DATABASE',
    message: expect.stringMatching(
      /of your own.*Nothing was changed; drop your views?, .*my_backlog/,
    ) as unknown,
  });
  await database.execute('DROP VIEW my_backlog');
  await (await openDatabase(urlOf(path))).close();
});

test('a table of a person with the name of a view is named', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  await database.transaction(dropViews);
  await database.execute('CREATE TABLE freshness (mine TEXT)');
  await expect(openDatabase(urlOf(path))).rejects.toMatchObject({
    code: 'DATABASE',
    message: expect.stringMatching(/another program’s table or view.*freshness.* already exists/) as unknown,
  });
});

test('a reader has the views at every moment of a migration', async () => {
  // This loads the engine, so that the reader below runs between all steps of the migration.
  await temporaryDatabase();
  const place = await freshMirrorFile();
  const reader = await temporaryDatabase(place);
  await reader.execute(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_long_tokens'`);
  const over = new AbortController();
  const migrating = temporaryDatabase(place).finally(() => over.abort());
  for (let reads = 0; !over.signal.aborted || reads === 0; reads += 1) {
    expect(await count(reader, 'freshness')).toBeGreaterThanOrEqual(0);
    // SQLite answers within one turn of the event loop. The migration may need others.
    if (reads % 100 === 99) await new Promise(setImmediate);
  }
  await migrating;
});

test('a migration that fails leaves the views as they are', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  const before = await database.query(`SELECT * FROM settings WHERE name = 'views'`);
  // The tables of the migration exist.
  await database.execute(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_counted_days'`);
  await expect(openDatabase(urlOf(path))).rejects.toThrow('already exists');
  expect(await viewsOf(database)).toEqual([...VIEW_NAMES].sort());
  expect(await database.query(`SELECT * FROM settings WHERE name = 'views'`)).toEqual(before);
});

test('report_days reaches a year ahead, is written once a month, and is rebuilt for a new time zone', async () => {
  const { database, clock } = await mirrorOf({ path: await freshMirrorFile() });
  const settings = { reportTimezone: 'UTC', budget: { perDay: 5000, reserved: 250 } };
  const day = 24 * 3_600_000;
  await database.execute(
    `INSERT INTO inboxes (id, raw, content_hash, first_seen_at, changed_at) VALUES ('1', '{}', '', $1, $1)`,
    iso(clock.now()),
  );
  await keepViewSettings(database, settings, clock.now());
  const begins = async (): Promise<string | undefined> =>
    (
      await database.query<{ starts_at: Date }>(`SELECT starts_at FROM report_days ORDER BY day LIMIT 1`)
    )[0]?.starts_at.toISOString();
  expect(await begins()).toBe('2026-03-02T00:00:00.000Z');
  const many = await count(database, 'report_days');
  await keepViewSettings(database, settings, clock.now() + 25 * day);
  expect(await count(database, 'report_days')).toBe(many);
  await keepViewSettings(database, settings, clock.now() + 40 * day);
  expect(await count(database, 'report_days')).toBe(many + 40);
  await keepViewSettings(database, { ...settings, reportTimezone: 'America/New_York' }, clock.now());
  expect(await begins()).toBe('2026-03-02T05:00:00.000Z');
  // New York's clocks go forward on 8 March 2026 and 14 March 2027.
  const length = database.dialect.millisecondsBetween('starts_at', 'ends_at');
  const short = await database.query(
    `SELECT day FROM report_days WHERE ${length} < ${day - 60_000} ORDER BY day`,
  );
  expect(short).toEqual([{ day: '2026-03-08' }, { day: '2027-03-14' }]);
});

test('a process that queries every view without pause neither blocks a sync nor fails', async () => {
  const path = await freshMirrorFile();
  const mirror = await mirrorOf({ path, pageSize: 10, sandbox: { conversations: [60] } });
  const inbox = firstInbox(mirror.sandbox);
  await mirror.sync();
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../support/child-reader.ts'), urlOf(path)],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(line));
  await once(output, 'line');
  for (let round = 0; round < 5; round++) {
    for (const id of inbox.conversations.order)
      mirror.sandbox.world.setStatus(inbox.id, id, round % 2 === 0 ? 'closed' : 'open');
    const { stopped } = await mirror.sync();
    expect(stopped).toBeNull();
  }
  const closed = once(child, 'close');
  child.stdin.end();
  const [code] = (await closed) as [number];
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(Number(lines.at(-1))).toBeGreaterThan(0);
});

test('`tables` prints every table and view with its columns and description, as text and JSON', async () => {
  const place = await newPlace();
  const program = await testProgram(
    { conversations: [5] },
    { REPORT_TIMEZONE: 'Europe/Berlin', DATABASE_URL: urlOf(place) },
  );
  expect((await program.run('tables')).exitCode).toBe(2);
  await program.run('sync');
  const { stdout, exitCode } = await program.run('tables', '--json');
  const tables = JSON.parse(stdout) as {
    name: string;
    kind: string;
    description: string;
    columns: string[];
  }[];
  expect(exitCode).toBe(0);
  expect(tables.filter(({ kind }) => kind === 'view').map(({ name }) => name)).toEqual(VIEW_NAMES);
  expect(tables.filter(({ description, columns }) => description === '' || columns.length === 0)).toEqual([]);
  const overview = (await program.run('tables')).stdout.split('\n');
  expect(overview[0]).toMatch(/^name +kind +meaning$/);
  expect(overview.slice(1, VIEW_NAMES.length + 1).map((line) => line.split(' ')[0])).toEqual(VIEW_NAMES);
  expect(overview[VIEW_NAMES.length + 1]).toMatch(/^inboxes +table +The shared inboxes\./);
  const one = await program.run('tables', 'Conversations');
  expect(one.stdout).toMatch(/^conversations \(table\) {2}The conversations of each inbox\./);
  expect(one.stdout).toMatch(
    /\nassignee_id +text +id of the assignee; null: unassigned; joins `inbox_users`\n/,
  );
  expect(one.stdout).toMatch(/\n\nkey: inbox_id, id\n$/);
  expect(JSON.parse((await program.run('tables', 'reopens', '--json')).stdout)).toMatchObject([
    {
      name: 'reopens',
      columns: ['inbox_id', 'conversation_id', 'closes', 'reopens', 'last_reopened_at'],
      meanings: expect.arrayContaining(['changes from a final status to one that is not']) as string[],
      key: ['inbox_id', 'conversation_id'],
      joins: [
        { columns: ['inbox_id'], table: 'inboxes', to: ['id'] },
        { columns: ['inbox_id', 'conversation_id'], table: 'conversations', to: ['inbox_id', 'id'] },
      ],
    },
  ]);
  expect(await program.run('tables', 'conversation')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Perhaps you meant "conversations"') as string,
  });
  const database = await temporaryDatabase(place);
  expect(await database.query(`SELECT value FROM settings WHERE name = 'report_timezone'`)).toEqual([
    { value: 'Europe/Berlin' },
  ]);
});

test('two processes with different time zones that start at once leave the days of the stored one', async () => {
  const { database, clock } = await mirrorOf({ path: await freshMirrorFile() });
  const budget = { perDay: 5000, reserved: 250 };
  const keep = async (reportTimezone: string, perDay: number, on = database): Promise<void> =>
    await keepViewSettings(on, { reportTimezone, budget: { ...budget, perDay } }, clock.now());
  await keep('UTC', 5000);
  let between: Promise<void> | undefined;
  const late: typeof database = {
    ...database,
    async transaction(work, ...rest) {
      await (between ??= keep('Europe/Berlin', 5000));
      return await database.transaction(work, ...rest);
    },
  };
  await keep('UTC', 6000, late);
  const [row] = await database.query<{ value: string; starts_at: Date }>(
    `SELECT value, starts_at FROM settings, report_days
     WHERE name = 'report_timezone' ORDER BY starts_at LIMIT 1`,
  );
  expect(row?.value).toBe('UTC');
  expect(row?.starts_at.getUTCHours()).toBe(0);
});
