import {
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { startDaemon } from '../support/daemon-process.ts';
import { sized } from '../support/histories.ts';
import { temporaryFolder } from '../support/mirror.ts';
import { mirrorFile, testProgram } from '../support/program.ts';

/** A daemon that has read all lists and sends requests every second. */
async function running() {
  const program = await testProgram(
    { inboxes: 1, conversations: 30 },
    { SCHEDULE_CONVERSATIONS: '* * * * * *', SCHEDULE_INBOXES: '* * * * * *', READ_PAGES: 'off' },
  );
  const daemon = startDaemon(program);
  const { address } = await daemon.said(/^answering/);
  await daemon.said(/conversations of inbox \d+ complete/);
  return {
    program,
    daemon,
    path: mirrorFile(program),
    health: async (path = '/healthz') => {
      const answer = await fetch(`${String(address)}${path}`);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    /** Waits until the daemon is parked, and checks that it sends nothing more. @returns the cause */
    async parked(): Promise<string> {
      const { cause } = await daemon.said(/sends nothing more/);
      const arrived = program.sandbox.arrivals.length;
      const { status, body } = await this.health();
      expect([status, body['database']]).toEqual([503, cause]);
      const ready = await this.health('/readyz');
      expect([ready.status, ready.body]).toEqual([503, { ready: false, database: cause }]);
      const since = Number(body['uptime_seconds']);
      await expect
        .poll(async () => Number((await this.health()).body['uptime_seconds']))
        .toBeGreaterThan(since + 2);
      expect(program.sandbox.arrivals.length).toBe(arrived);
      return String(cause);
    },
    async stops(): Promise<void> {
      daemon.process.kill('SIGTERM');
      expect(await daemon.ended).toBe(0);
    },
    async restarts(): Promise<void> {
      await this.stops();
      const next = startDaemon(program);
      await next.said(/conversations of inbox \d+ complete/);
      next.process.kill('SIGTERM');
      expect(await next.ended).toBe(0);
    },
  };
}

test('a daemon whose file is exchanged parks, and the old file’s log does not stay beside the new', async () => {
  const house = await running();
  const { path } = house;
  const database = new Sqlite(path);
  database.exec(`VACUUM INTO '${path}.backup'`);
  database.close();
  expect(existsSync(`${path}-wal`)).toBe(true);
  renameSync(`${path}.backup`, path);
  expect(await house.parked()).toMatch(
    /mirror\.db was deleted, replaced or made smaller .* Stop it, .* start it again/,
  );
  expect([existsSync(`${path}-wal`), existsSync(`${path}-shm`)]).toEqual([false, false]);
  await house.restarts();
  const restored = new Sqlite(path);
  expect(restored.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  restored.close();
});

/** The requests in the ledger of a whole file. */
function sent(path: string): number {
  const file = new Sqlite(path);
  try {
    expect(file.pragma('integrity_check', { simple: true })).toBe('ok');
    return Number(file.prepare('SELECT count(*) FROM requests').pluck().get());
  } finally {
    file.close();
  }
}

test('a daemon whose file is renamed, and later replaced, saves its log into the first only', async () => {
  const house = await running();
  const { path, program } = house;
  const database = new Sqlite(path);
  database.exec(`VACUUM INTO '${path}.backup'`);
  database.close();
  renameSync(path, `${path}.aside`);
  await house.parked();
  await expect.poll(() => existsSync(`${path}-wal`), { timeout: 5000 }).toBe(false);
  renameSync(`${path}.backup`, path);
  await house.stops();
  expect(sent(`${path}.aside`)).toBe(program.sandbox.arrivals.length);
  expect(sent(path)).toBeGreaterThan(0);
});

test('a daemon whose file cannot be looked at for seconds keeps sending', async () => {
  const { path, daemon, program, health, stops } = await running();
  // A link to itself in its place: each look at the name fails, and the open file is as before.
  linkSync(path, `${path}.aside`);
  symlinkSync(basename(path), `${path}.loop`);
  renameSync(`${path}.loop`, path);
  expect(() => statSync(path)).toThrow('ELOOP');
  const arrived = program.sandbox.arrivals.length;
  await expect.poll(() => program.sandbox.arrivals.length).toBeGreaterThan(arrived + 3);
  renameSync(`${path}.aside`, path);
  expect((await health()).status).toBe(200);
  expect(daemon.errors()).not.toContain('sends nothing more');
  await stops();
});

const SIDES = ['-wal', '', '-shm'] as const;

// In `npm test` one daemon shows it. The test below has the others.
test('a daemon whose file or one of its side files is removed parks and names it', async () => {
  // Side by side, because each waits for seconds.
  await Promise.all(
    SIDES.slice(0, sized(1, SIDES.length)).map(async (side) => {
      const house = await running();
      rmSync(`${house.path}${side}`);
      expect(await house.parked()).toContain(
        `mirror.db${side} was deleted, replaced or made smaller while the daemon ran`,
      );
      await house.stops();
      // Another process can use what is left.
      expect((await house.program.run('sync')).exitCode).toBe(0);
    }),
  );
});

test('what another program writes without the old log stays whole if the parked daemon is killed', async () => {
  const house = await running();
  for (const side of ['-wal', '-shm']) rmSync(`${house.path}${side}`);
  expect(await house.parked()).toMatch(/writes what it still holds .* would damage .* SIGKILL/);
  expect((await house.program.run('sync')).exitCode).toBe(0);
  house.daemon.process.kill('SIGKILL');
  await house.daemon.ended;
  const kept = new Sqlite(house.path);
  expect(kept.pragma('integrity_check', { simple: true })).toBe('ok');
  kept.close();
  expect((await house.program.run('sync')).exitCode).toBe(0);
});

test.each(SIDES)(
  'a mirror whose file%s was removed counts as lost, under the name of that file',
  async (side) => {
    const path = join(temporaryFolder(), 'mirror.db');
    const database = await openDatabase(`file:${path}`);
    onTestFinished(() => database.close());
    await database.execute(`INSERT INTO settings (name, value) VALUES ('a', '1')`);
    expect(database.lostFile()).toBeNull();
    rmSync(`${path}${side}`);
    expect(database.lostFile()).toBe(`${path}${side}`);
  },
);

test('a command that closes an exchanged database leaves no log beside the new file', async () => {
  const path = join(temporaryFolder(), 'mirror.db');
  const database = await openDatabase(`file:${path}`);
  await database.execute(`VACUUM INTO '${path}.backup'`);
  renameSync(`${path}.backup`, path);
  await database.close();
  expect([existsSync(path), existsSync(`${path}-wal`), existsSync(`${path}-shm`)]).toEqual([
    true,
    false,
    false,
  ]);
});

test('a file that is cut in place counts as lost and keeps its log; one that grows does not', async () => {
  const path = join(temporaryFolder(), 'mirror.db');
  const database = await openDatabase(`file:${path}`);
  onTestFinished(() => database.close());
  const add = async (key: string): Promise<unknown> =>
    await database.query(
      `INSERT INTO settings (name, value) VALUES ('${key}', '"${'x'.repeat(20_000)}"') RETURNING name`,
    );
  const checkpoint = async (): Promise<number> => {
    await database.query('PRAGMA wal_checkpoint(TRUNCATE)');
    return statSync(path).size;
  };
  const before = await checkpoint();
  expect(database.lostFile()).toBeNull();
  await add('a');
  const after = await checkpoint();
  expect(after).toBeGreaterThan(before);
  expect(database.lostFile()).toBeNull();
  await add('b');
  const bytes = readFileSync(path);
  // As a shell does for `cat half > mirror.db`: the file keeps its identity.
  writeFileSync(path, bytes.subarray(0, after - 4096));
  expect(database.lostFile()).toBe(path);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  writeFileSync(path, bytes);
});

test('a file that is exchanged behind a link loses the old log too', async () => {
  const folder = temporaryFolder();
  const [file, link] = [join(folder, 'real.db'), join(folder, 'link.db')];
  await (await openDatabase(`file:${file}`)).close();
  symlinkSync(file, link);
  const database = await openDatabase(`file:${link}`);
  await database.execute(`INSERT INTO settings (name, value) VALUES ('a', '1')`);
  await database.execute(`VACUUM INTO '${file}.backup'`);
  expect(await database.bytes()).toBeGreaterThan(statSync(file).size);
  renameSync(`${file}.backup`, file);
  expect(database.lostFile()).toBe(link);
  expect([existsSync(`${file}-wal`), existsSync(`${file}-shm`)]).toEqual([false, false]);
  await database.close();
});
