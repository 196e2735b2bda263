import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { mirrorOf, newPlace, temporaryDatabase, temporaryFolder } from '../support/mirror.ts';
import { NEWER_MIGRATION, plantNewerMigration } from '../support/newer-migration.ts';
import { testProgram } from '../support/program.ts';
import { ON_SQLITE, onServer, urlOf } from '../support/provider.ts';
import { changesIn, count, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';
import { addTrigger, dropTrigger } from '../support/triggers.ts';
import { expectEqualToService } from '../support/truth.ts';

const BIN = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');

/** Another program's connection to the file. */
function otherProgram(path: string): BetterSqlite3.Database {
  const other = new BetterSqlite3(path);
  onTestFinished(() => void other.close());
  return other;
}

/** Runs `work`; if the test runs as root, as the user `nobody`, because root ignores file modes. */
async function asNobody<Result>(work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return await work();
  process.seteuid!(65534);
  try {
    return await work();
  } finally {
    process.seteuid!(0);
  }
}

describe.runIf(ON_SQLITE)('an SQLite mirror', () => {
  test('on a full disk stops the pass and loses no applied page, and later completes the rest', async () => {
    const mirror = await mirrorOf({
      path: await freshMirrorFile(),
      pageSize: 10,
      sandbox: { conversations: [300] },
    });
    const { database, sandbox } = mirror;
    const [size] = await database.query<{ page_count: number }>('PRAGMA page_count');
    await database.query(`PRAGMA max_page_count = ${size!.page_count + 12}`);
    const report = await mirror.sync();
    expect(report.stopped).toMatchObject({
      code: 'DATABASE',
      message: expect.stringMatching(/the disk is full. Nothing is lost/),
    });
    const kept = await count(database, 'conversations');
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(300);
    expect(kept % 10).toBe(0);
    // The ledger has every request that left before the disk was full.
    expect(await count(database, 'requests')).toBeGreaterThanOrEqual(sandbox.arrivals.length);
    await database.query('PRAGMA max_page_count = 1000000');
    const before = sandbox.arrivals.length;
    expect((await mirror.sync()).stopped).toBeNull();
    // The second pass reads the page whose write failed and the pages that were never read.
    expect(sandbox.arrivals.length - before).toBeLessThanOrEqual((300 - kept) / 10 + 3);
    await expectEqualToService(mirror);
  });

  // SQLite then fails to make its file -shm, with another error than for a full file.
  test.each([['query', 'SELECT 1'], ['status'], ['sync'], ['doctor']])(
    'on a full disk without its side files is named in the error of %s',
    async (...argv) => {
      const { folder, env } = await testProgram();
      // No file may become larger than 16 blocks, which are 8 or 16 KiB.
      const limited = ['-c', 'ulimit -f 16; exec "$0" "$@"', process.execPath, BIN, ...argv];
      const child = spawn('sh', limited, {
        cwd: folder,
        env: { PATH: process.env['PATH'], NODE_DISABLE_COMPILE_CACHE: '1', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const [stdout, stderr, [status]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      expect((stdout + stderr).replaceAll(/\s+/g, ' ')).toMatch(
        /cannot grow: the disk is full. Nothing is lost/,
      );
      expect(status).toBe(1);
    },
  );

  test('that another program locks is named in the error, and the next pass completes it', async () => {
    const path = await freshMirrorFile();
    const mirror = await mirrorOf({ path, pageSize: 10, sandbox: { conversations: [45] } });
    await mirror.database.query('PRAGMA busy_timeout = 50');
    const other = otherProgram(path);
    mirror.sandbox.script(() => {
      if (mirror.sandbox.arrivals.length === 5) other.exec('BEGIN IMMEDIATE');
      return undefined;
    });
    const report = await mirror.sync();
    expect(report.stopped).toMatchObject({
      code: 'DATABASE',
      message: `The database ${path} is locked by another program. Nothing is lost; close the program that has it open for writing, then run the command again.`,
    });
    other.exec('ROLLBACK');
    mirror.sandbox.script(undefined);
    expect((await mirror.sync()).stopped).toBeNull();
    await expectEqualToService(mirror);
    expect(await count(mirror.database, 'requests')).toBeGreaterThanOrEqual(mirror.sandbox.arrivals.length);
  });

  test('with a reader in another program syncs without delay, and the reader sees one state', async () => {
    const path = await freshMirrorFile();
    const mirror = await mirrorOf({ path, pageSize: 10, sandbox: { conversations: [45] } });
    const other = otherProgram(path);
    other.exec('BEGIN');
    const seen = (): number =>
      (other.prepare('SELECT count(*) AS n FROM conversations').get() as { n: number }).n;
    expect(seen()).toBe(0);
    expect((await mirror.sync()).stopped).toBeNull();
    expect(seen()).toBe(0);
    other.exec('COMMIT');
    expect(seen()).toBe(45);
  });

  test('that is read-only is named in the error', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'inner', 'mirror.db');
    mkdirSync(join(folder, 'inner'));
    copyFileSync(await freshMirrorFile(), path);
    chmodSync(folder, 0o755);
    chmodSync(join(folder, 'inner'), 0o755);
    chmodSync(path, 0o444);
    if (process.geteuid?.() !== 0) chmodSync(join(folder, 'inner'), 0o555);
    await asNobody(async () => {
      await expect(openDatabase(`file:${path}`)).rejects.toMatchObject({
        code: 'DATABASE',
        message: expect.stringContaining(`The database ${path} is read-only here`),
      });
    });
    chmodSync(join(folder, 'inner'), 0o755);
  });

  test('whose file is not a database is named in the error, and the file stays unchanged', async () => {
    const path = join(temporaryFolder(), 'notes.txt');
    const content = 'These are notes and no database at all. '.repeat(100);
    writeFileSync(path, content);
    await expect(openDatabase(`file:${path}`)).rejects.toMatchObject({
      code: 'CONFIG',
      message: `The database ${path} is not an SQLite database. Set DATABASE_URL to another file.`,
    });
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  test('in a folder that does not exist is refused with the name of the folder', async () => {
    const path = join(temporaryFolder(), 'nowhere', 'mirror.db');
    await expect(openDatabase(`file:${path}`)).rejects.toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining('nowhere'),
    });
  });

  test('whose path is a folder is refused', async () => {
    await expect(openDatabase(`file:${temporaryFolder()}`)).rejects.toMatchObject({ code: 'DATABASE' });
  });
});

describe('the mirror', () => {
  test.runIf(ON_SQLITE)('and its side files are readable by their owner only', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    const umask = process.umask(0);
    try {
      const database = await temporaryDatabase(path);
      await database.execute(`INSERT INTO gate_state (id) VALUES (1)`);
      for (const file of [path, `${path}-wal`, `${path}-shm`]) {
        expect(existsSync(file)).toBe(true);
        expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
      }
    } finally {
      process.umask(umask);
    }
  });

  test('that a newer inbox-mirror has made is refused with the name of its migration', async () => {
    const path = await freshMirrorFile();
    const other = await temporaryDatabase(path);
    await plantNewerMigration(other);
    await expect(openDatabase(urlOf(path))).rejects.toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining(
        `was made by a newer inbox-mirror (it has the migration ${NEWER_MIGRATION})`,
      ),
    });
  });

  test('is not created beside another program’s tables, even a `settings`, and changes none', async () => {
    const path = await newPlace();
    const run = (sql: string): unknown => (ON_SQLITE ? otherProgram(path).exec(sql) : onServer(sql, path));
    await run(
      `CREATE TABLE settings (name text, value text); INSERT INTO settings VALUES ('views', '{"names": ["sales"]}')`,
    );
    await run(`CREATE VIEW sales AS SELECT name FROM settings`);
    for (const others of ['settings', '_prisma_migrations, settings']) {
      await expect(openDatabase(urlOf(path))).rejects.toMatchObject({
        code: 'CONFIG',
        message: expect.stringContaining(
          `holds another program’s tables (${others}) and no mirror. Nothing was changed`,
        ),
      });
      await run(
        `CREATE TABLE IF NOT EXISTS _prisma_migrations (migration_name text, finished_at text, rolled_back_at text)`,
      );
      await run(`INSERT INTO _prisma_migrations VALUES ('20200101_init', '2020', NULL)`);
      // Fails if the view is gone, and on PostgreSQL also if the row is gone.
      await run(
        `CREATE TABLE kept_${others.length} AS SELECT 1 / count(*) AS whole FROM sales WHERE name = 'views'`,
      );
      await run(`DROP TABLE kept_${others.length}`);
    }
  });

  test('is not taken for another program’s while a restore has made its tables and not filled them', async () => {
    const path = await newPlace();
    const mirror = await openDatabase(urlOf(path));
    await mirror.execute('DELETE FROM _prisma_migrations');
    await mirror.close();
    await expect(openDatabase(urlOf(path))).rejects.toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining('a backup is being restored'),
    });
  });

  test.runIf(ON_SQLITE)('does not change the journal mode of another program’s file', async () => {
    const path = await newPlace();
    otherProgram(path).exec('CREATE TABLE customers (id integer)');
    const before = readFileSync(path);
    await expect(openDatabase(urlOf(path))).rejects.toMatchObject({ code: 'CONFIG' });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('keeps its rows when it is opened again, and runs no migration twice', async () => {
    const path = await newPlace();
    const first = await openDatabase(urlOf(path));
    await first.execute(`INSERT INTO gate_state (id, strikes) VALUES (1, 7)`);
    const migrations = await first.query('SELECT migration_name FROM _prisma_migrations');
    await first.close();
    const second = await temporaryDatabase(path);
    expect(await second.query('SELECT strikes FROM gate_state')).toEqual([{ strikes: 7 }]);
    expect(await second.query('SELECT migration_name FROM _prisma_migrations')).toEqual(migrations);
  });

  test.runIf(ON_SQLITE)('has the settings to survive a power cut: WAL, synced at each commit', async () => {
    const database = await temporaryDatabase(await freshMirrorFile());
    expect(await database.query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
    expect(await database.query('PRAGMA synchronous')).toEqual([{ synchronous: 2 }]);
    expect(await database.query('PRAGMA foreign_keys')).toEqual([{ foreign_keys: 1 }]);
  });
});

describe('a transaction', () => {
  test('writes nothing of a page that it cannot write whole', async () => {
    const mirror = await mirrorOf({ path: await freshMirrorFile(), sandbox: { conversations: [30] } });
    await mirror.sync();
    const inbox = firstInbox(mirror.sandbox);
    for (const id of inbox.conversations.order) mirror.sandbox.world.setStatus(inbox.id, id, 'changed');
    const refuse = { name: 'refuse', when: 'BEFORE', verb: 'INSERT', table: 'sweep_pages' } as const;
    await addTrigger(mirror.database, {
      ...refuse,
      refuses: `(SELECT list FROM sweeps WHERE id = NEW.sweep_id) = 'conversations'`,
    });
    const { stopped, lists } = await mirror.sync();
    // A database that the program does not know reports an unknown error, which ends the list only.
    expect(stopped ?? lists.find(({ key }) => key.list === 'conversations')?.error).not.toBeNull();
    expect(await count(mirror.database, `conversations WHERE status = 'changed'`)).toBe(0);
    expect(await changesIn(mirror.database)).toEqual([]);
    await dropTrigger(mirror.database, refuse);
    expect((await mirror.sync()).stopped).toBeNull();
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).length).toBe(30);
  });

  test('that rolls back does not undo a statement that ran beside it', async () => {
    const database = await temporaryDatabase(await freshMirrorFile());
    const failing = database.transaction(async (tx) => {
      await tx.execute(`INSERT INTO gate_state (id) VALUES (1)`);
      await new Promise(setImmediate);
      throw new Error('rolled back');
    });
    const beside = database.execute(`INSERT INTO gate_state (id) VALUES (2)`);
    await expect(failing).rejects.toThrow('rolled back');
    await beside;
    expect(await database.query('SELECT id FROM gate_state')).toEqual([{ id: 2 }]);
  });
});
