import { once } from 'node:events';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { printLoad } from '../../../src/cli/output/load.ts';
import { LIST_NAMES } from '../../../src/core/lists.ts';
import { iso } from '../../../src/database/instants.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import { stretchedCrons } from '../../../src/sync/planning/stretch.ts';
import { loadOf } from '../../../src/sync/planning/load/load.ts';
import { startDaemon } from '../../support/daemon-process.ts';
import { temporaryDatabase } from '../../support/mirror.ts';
import { mirrorFile, newProgram, SECRET, type TestProgram, testProgram } from '../../support/program.ts';

/** Reads rows of the mirror while the daemon runs. */
function read(program: TestProgram, sql: string): unknown[] {
  const database = new Sqlite(mirrorFile(program), { readonly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

const LEASES = `SELECT pid FROM leases WHERE name = 'writer'`;

/** The table and the verdict that `start` prints for this mirror. The first test sees the process do it. */
async function schedulesOf(program: TestProgram): Promise<string> {
  const env = { REQUESTS_PER_DAY: '200000', ...program.env };
  const config = readConfig(env, program.folder, { service: true });
  const mirror = mirrorOn(await temporaryDatabase(mirrorFile(program)));
  const now = Date.now();
  const load = await loadOf(mirror, await stretchedCrons(mirror, config, config.budget), config, now);
  let printed = '';
  printLoad({ write: (text) => (printed += text) }, load, config, now);
  return printed;
}

/** After `hold()` the sandbox answers no request. The promise resolves when the first one arrives. */
function holding(program: TestProgram): { hold(): Promise<void> } {
  let arrived: (() => void) | null = null;
  program.sandbox.script(() => {
    if (arrived === null) return undefined;
    arrived();
    return 'hang';
  });
  return { hold: () => new Promise((resolve) => (arrived = resolve)) };
}

describe('start', () => {
  test('prints its schedules, reads every list, serves HTTP, and on SIGTERM frees the lease', async () => {
    const program = await newProgram({ inboxes: 2, conversations: 30 });
    const daemon = startDaemon(program);
    const { address } = await daemon.said(/^answering .* only to programs of this machine$/);
    await expect.poll(() => daemon.log.filter(({ msg }) => msg === 'first copy complete').length).toBe(1);
    expect(daemon.log.filter(({ msg, list }) => list !== undefined && msg.endsWith('complete'))).toHaveLength(
      7,
    );
    expect(daemon.stdout()).toMatch(/inboxes +0 \* \* \* \* +.*\n/);
    expect(daemon.stdout().replaceAll(/\s+/g, ' ')).toContain(
      'The mirror is new: the first copy reads every',
    );
    // Only then the costs are known.
    await expect.poll(() => daemon.stdout()).toMatch(/per day[^]*they fit/);
    const ready = await fetch(`${String(address)}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { ready: true, lists: 7, not_fresh: [], held: [], other_account: null },
    ]);
    expect(await (await fetch(`${String(address)}/metrics`)).text()).toContain('inbox_mirror_lease_held 1');
    expect((await program.run('status')).stdout).toContain('held by `inbox-mirror start`');
    const since = performance.now();
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
    // No page is in hand, so the daemon does not use its grace period.
    expect(performance.now() - since).toBeLessThan(4000);
    expect(daemon.log.at(-1)?.msg).toBe('stopped');
    expect(read(program, LEASES)).toEqual([]);
  });

  test.each([
    [
      'asc',
      /they fit\. The other [\d,]+ read single pages of conversations, where most changes are expected\./,
    ],
    [
      'mixed',
      /they fit\. No list .* page by page now; `npx inbox-mirror plan` says why\. The other [\d,]+ may read whole/,
    ],
  ] as const)(
    'says what the other requests of the day read (order of ids: %s)',
    async (listOrder, expected) => {
      const program = await testProgram({ inboxes: 2, conversations: 30, listOrder });
      await program.run('sync');
      expect((await schedulesOf(program)).replaceAll(/\s+/g, ' ')).toMatch(expected);
    },
  );

  test('exits 1 and names the variable while the port is taken, and runs once it is free', async () => {
    const program = await testProgram();
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    program.env['HTTP_PORT'] = String(port);
    const taken = await program.run('start');
    expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining('HTTP_PORT')]);
    expect(read(program, LEASES)).toEqual([]);
    other.close();
    await once(other, 'close');
    await startDaemon(program, { HTTP_PORT: String(port) }).said(/^answering/);
  });

  test('exits 2 and names the variable when a schedule is invalid', async () => {
    const program = await testProgram();
    program.env['SCHEDULE_TAGS'] = 'every day';
    const wrong = await program.run('start');
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/SCHEDULE_TAGS.*such as "\*\/15 \* \* \* \*"/),
    ]);
  });

  test('prints by how much the schedules exceed the budget, and the worst age of each list', async () => {
    const program = await testProgram(
      { inboxes: 1, conversations: 900 },
      { PAGE_SIZE: '10', REQUESTS_PER_DAY: '3000', SCHEDULE_CONVERSATIONS: '*/15 * * * *' },
    );
    await program.run('sync');
    const printed = await schedulesOf(program);
    expect(printed).toMatch(
      /do not fit.* they need about [\d,]+ requests a day of the 2,750 .*, [\d,]+ too many/,
    );
    expect(printed).toMatch(/greatest ages to expect: inboxes .* old, .*conversations .* old/);
    expect(printed).toMatch(/ages are of lists that are read whole: .* page by page can become older/s);
    expect(printed).toMatch(/leave no request for the pages .* Without SCHEDULE_CONVERSATIONS/s);
  });

  test('says that one reading of every page takes several days, and so does status', async () => {
    const program = await testProgram(
      { inboxes: 1, conversations: 900 },
      { PAGE_SIZE: '10', REQUESTS_PER_DAY: '150', REQUESTS_RESERVED: '30' },
    );
    await program.run('sync');
    expect((await program.run('status')).stdout).not.toMatch(/^cover/m);
    const daemon = startDaemon(program);
    await daemon.said(/^started/);
    expect(daemon.stdout()).toMatch(/: they fit\.\nThe other \d+ read single pages of conversations/);
    const sentence = 'One reading of every page of conversations is spread over 2 days: one a day would take';
    expect(daemon.stdout()).toContain(`${sentence} more than half of the budget.\n`);
    await expect
      .poll(async () => (await program.run('status')).stdout)
      .toContain(`\ncover    ${sentence} more than half of the budget\n`);
    const { pages } = JSON.parse((await program.run('status', '--json')).stdout) as { pages: unknown };
    expect(pages).toMatchObject({ pages: 90, cover_days: 2 });
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
  });
});

describe('a signal', () => {
  test('sent while a page hangs stops the daemon within 8 s and applies nothing of the page', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 30 });
    const service = holding(program);
    const asked = service.hold();
    const daemon = startDaemon(program);
    await asked;
    const since = performance.now();
    daemon.process.kill('SIGINT');
    expect(await daemon.ended).toBe(0);
    expect(performance.now() - since).toBeLessThan(8000);
    expect(daemon.log.filter(({ level }) => level >= 50)).toEqual([]);
    expect(read(program, LEASES)).toEqual([]);
    expect(read(program, `SELECT status FROM requests`)).toEqual([{ status: null }]);
    expect(read(program, `SELECT id FROM inboxes`)).toEqual([]);
  });

  test('sent a second time ends the daemon at once with exit code 130', async () => {
    const program = await testProgram();
    const service = holding(program);
    const asked = service.hold();
    const daemon = startDaemon(program);
    await asked;
    daemon.process.kill('SIGTERM');
    await daemon.said(/^stopping/);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(130);
  });

  test('of type SIGHUP makes the daemon read a new key from the key file and continue', async () => {
    const program = await testProgram({ inboxes: 1 });
    const { INBOX_API_KEY: _key, ...env } = program.env;
    const keyFile = join(program.folder, 'key');
    writeFileSync(keyFile, 'a-wrong-key');
    const daemon = startDaemon({ ...program, env }, { INBOX_API_KEY_FILE: keyFile });
    await daemon.said(/^the API key is refused/);
    const arrived = program.sandbox.arrivals.length;
    expect(arrived).toBe(1);
    writeFileSync(keyFile, SECRET);
    daemon.process.kill('SIGHUP');
    await daemon.said(/inboxes complete/);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
    expect(JSON.stringify(daemon.log)).not.toContain('a-wrong-key');
  });
});

describe('a second start on the same mirror', () => {
  test('stands by, then takes over as the active daemon when the first is killed', async () => {
    // No slot begins between the two daemons, at whatever time the test runs.
    const yearly = Object.fromEntries(
      LIST_NAMES.map((list) => [`SCHEDULE_${list.toUpperCase()}`, '0 0 1 1 *']),
    );
    const program = await testProgram({ inboxes: 1 }, { READ_PAGES: 'off', ...yearly });
    const first = startDaemon(program);
    await first.said(/^first copy complete/);
    const second = startDaemon(program);
    const standing = await second.said(/standing by/);
    expect(standing.msg).toContain(`process ${first.pid}`);
    expect(standing['database']).toBe(mirrorFile(program));
    const { address } = await second.said(/^answering/);
    const roleOf = async (): Promise<unknown> =>
      ((await (await fetch(`${String(address)}/healthz`)).json()) as { role: string }).role;
    expect(await roleOf()).toBe('standby');
    const arrived = program.sandbox.arrivals.length;
    first.process.kill('SIGKILL');
    expect(await first.ended).toBe('SIGKILL');
    await second.said(/^took over/);
    await second.said(/^started/);
    expect(await roleOf()).toBe('active');
    // Every list is still fresh, so the second daemon reads none again.
    expect(program.sandbox.arrivals.length).toBe(arrived);
    second.process.kill('SIGTERM');
    expect(await second.ended).toBe(0);
  });

  test('with another key takes over from a daemon whose key the service refuses, which then stands by', async () => {
    const program = await testProgram({ inboxes: 1 });
    const first = startDaemon(program, { INBOX_API_KEY: 'a-deleted-key' });
    await first.said(/^the API key is refused/);
    const { address } = await first.said(/^answering/);
    const second = startDaemon(program, { HTTP_PORT: new URL(String(address)).port });
    await second.said(/^took over/);
    await first.said(/^the service refused the key of this daemon; it stands by/);
    second.process.kill('SIGTERM');
    expect(await second.ended).toBe(0);
    // The first one does not keep the mirror from others again.
    expect((await program.run('sync')).exitCode).toBe(0);
    expect(program.sandbox.arrivals.filter(({ status }) => status === 401)).toHaveLength(1);
    first.process.kill('SIGTERM');
    expect(await first.ended).toBe(0);
  });

  test('takes over the port as well when both use the same one', async () => {
    const program = await testProgram({ inboxes: 1 });
    const first = startDaemon(program);
    const { address } = await first.said(/^answering/);
    const second = startDaemon(program, { HTTP_PORT: new URL(String(address)).port });
    await second.said(/standing by/);
    first.process.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    await second.said(/^answering/);
    second.process.kill('SIGTERM');
    expect(await second.ended).toBe(0);
  });
});

test('a daemon whose lease another process takes over stands by and does not take it back', async () => {
  const program = await testProgram({ inboxes: 1 });
  const daemon = startDaemon(program, { SCHEDULE_INBOXES: '* * * * * *' });
  await daemon.said(/^started/);
  const database = new Sqlite(mirrorFile(program));
  onTestFinished(() => void database.close());
  database
    .prepare(`UPDATE leases SET holder = 'another', pid = 1, expires_at = ?`)
    .run(iso(Date.now() + 20_000));
  await daemon.said(/^another process took over the mirror/);
  await daemon.said(/standing by/);
  expect(database.prepare(`SELECT holder FROM leases WHERE name = 'writer'`).get()).toEqual({
    holder: 'another',
  });
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  expect(database.prepare(`SELECT holder FROM leases WHERE name = 'writer'`).get()).toEqual({
    holder: 'another',
  });
});

test('a bug ends the daemon with exit code 1, is logged with its cause and spares the mirror', async () => {
  const program = await testProgram({ inboxes: 1 });
  // Simulates a bug: a signal handler in the daemon throws, and no code catches the error.
  const plant = join(program.folder, 'plant.cjs');
  writeFileSync(
    plant,
    `process.on('SIGUSR2', () => { throw new Error('planted', { cause: new Error('its cause') }); });`,
  );
  const daemon = startDaemon(program, { NODE_OPTIONS: `--require ${plant}` });
  await daemon.said(/conversations of inbox \d+ complete/);
  daemon.process.kill('SIGUSR2');
  expect(await daemon.ended).toBe(1);
  expect(daemon.log.at(-1)).toMatchObject({
    level: 60,
    err: { message: expect.stringContaining('planted'), stack: expect.stringContaining('its cause') },
  });
  expect(read(program, `PRAGMA integrity_check`)).toEqual([{ integrity_check: 'ok' }]);
  expect(existsSync(mirrorFile(program))).toBe(true);
});

test('SIGUSR1 does not open a debugger in the daemon, and neither SIGUSR2 nor a closed pipe ends it', async () => {
  const program = await testProgram({ inboxes: 1 });
  const daemon = startDaemon(program);
  daemon.process.stdout?.destroy();
  await daemon.said(/^started/);
  daemon.process.kill('SIGUSR1');
  daemon.process.kill('SIGUSR2');
  await daemon.said(/conversations of inbox \d+ complete/);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  expect(daemon.errors()).not.toContain('Debugger listening');
  expect(read(program, LEASES)).toEqual([]);
});

test('sync beside a daemon places an order, prints the usual report and exits 0', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 250 }, { PAGE_SIZE: '10' });
  const daemon = startDaemon(program);
  await daemon.said(/conversations of inbox \d+ complete/);
  const { exitCode, stdout, stderr } = await program.run('sync', 'conversations');
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('The daemon does this as order 1')]);
  expect(stdout).toMatch(/conversations +250 +0 +0 +0 +complete/);
  expect(await daemon.said(/^order done/)).toMatchObject({ order: 1 });
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  // Without a daemon the same command does the work itself.
  expect((await program.run('sync', 'conversations')).stderr).not.toContain('daemon');
});

test('a command beside a daemon changes no setting of the views, and names those that differ', async () => {
  const program = await testProgram(
    { inboxes: 1, conversations: 5 },
    { REPORT_TIMEZONE: 'Pacific/Auckland' },
  );
  const zone = `SELECT value FROM settings WHERE name = 'report_timezone'`;
  const daemon = startDaemon(program);
  await daemon.said(/first copy complete/);
  program.env['REPORT_TIMEZONE'] = 'UTC';
  const lookup = ['lookup', 'tag', '--inbox', '20117', '--name', 'x'];
  const beside = await program.run(...lookup);
  expect(beside.stderr).toMatch(
    /the views keep the settings of the daemon on .+: REPORT_TIMEZONE=UTC \(there: Pacific\/Auckland\)/,
  );
  expect(read(program, zone)).toEqual([{ value: 'Pacific/Auckland' }]);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  const alone = await program.run(...lookup);
  expect(alone.stderr).toContain(
    'the views have new settings: REPORT_TIMEZONE=UTC (before: Pacific/Auckland)',
  );
  expect(read(program, zone)).toEqual([{ value: 'UTC' }]);
  expect((await program.run(...lookup)).stderr).not.toContain('settings');
});

test('start with a faulty .env exits 2 and creates no database', async () => {
  const program = await newProgram();
  delete program.env['INBOX_API_URL'];
  appendFileSync(join(program.folder, '.env'), 'INBOX_API_URL=not-an-address\n');
  const { exitCode } = await program.run('start');
  expect(exitCode).toBe(2);
  expect(existsSync(mirrorFile(program))).toBe(false);
});
