import { hostname } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { HOUR } from '../../../src/core/clock.ts';
import { MirrorError } from '../../../src/core/errors.ts';
import { LIST_NAMES } from '../../../src/core/lists.ts';
import { keyFingerprint } from '../../../src/core/secrets.ts';
import type { Database } from '../../../src/database/database.ts';
import { iso } from '../../../src/database/instants.ts';
import { openMirror } from '../../../src/library/library.ts';
import { acquireLease, type Lease } from '../../../src/mirror/lease.ts';
import { mirrorOn, openWriter, type Writer } from '../../../src/mirror/mirror.ts';
import { createClient } from '../../../src/service/client.ts';
import { Gate } from '../../../src/service/gate/gate.ts';
import { createHttp } from '../../../src/service/http.ts';
import { systemClock } from '../../../src/session/clock.ts';
import { type PassReport, runPass } from '../../../src/sync/pass.ts';
import { asRecord } from '../../../src/sync/record.ts';
import { accountCheck } from '../../support/account.ts';
import { temporaryDatabase } from '../../support/mirror.ts';
import { type Ran, SECRET, type TestProgram, testProgram } from '../../support/program.ts';
import { freshMirrorFile } from '../../support/template.ts';

const SMALL = { conversations: [230, 40], usersPerInbox: 3, tagsPerInbox: 4 };
const SMALL_REQUESTS = 1 + 2 + 2 + 3 + 1;
const PLAIN = {
  kind: 'sync',
  lists: LIST_NAMES,
  inboxId: null,
  acceptDeletes: false,
  acceptAccount: false,
} as const;

/** A living process of this machine other than this one. */
const DAEMON_PID = process.ppid;

interface Running {
  /** Resolves when the program has printed `text`. */
  printed(text: string): Promise<void>;
  interrupt(): void;
  readonly ended: Promise<Ran>;
}

interface World {
  readonly program: TestProgram;
  /** The daemon's connection. */
  readonly database: Database;
  readonly clock: ReturnType<typeof systemClock>;
  start(...argv: string[]): Running;
  /** Holds the lease like a daemon, and does nothing else. */
  daemon(): Promise<{ lease: Lease; writer: Writer }>;
  /** Carries out the oldest order as the daemon does. */
  carryOut(writer: Writer): Promise<PassReport>;
}

async function worldOf(): Promise<World> {
  const path = await freshMirrorFile();
  const program = await testProgram(SMALL, { DATABASE_URL: `file:${path}` });
  const database = await temporaryDatabase(path);
  const clock = systemClock();
  return {
    program,
    database,
    clock,
    start: (...argv) => startProgram(program, argv),
    async daemon() {
      const claimant = {
        host: hostname(),
        pid: DAEMON_PID,
        command: 'inbox-mirror start',
        now: clock.now,
        isAlive: () => true,
      };
      const lease = await acquireLease(database, claimant);
      return { lease, writer: openWriter(database, lease) };
    },
    async carryOut(writer) {
      const order = await mirrorOn(database).orders.next();
      if (order === null) throw new Error('nothing was ordered');
      const { INBOX_API_URL: address = '', INBOX_API_KEY: key = '' } = program.env;
      const http = createHttp(address, () => key);
      onTestFinished(() => http.close());
      const budget = { perSecond: 500, perDay: 5000, reserved: 0 };
      const gate = new Gate({
        ledger: writer.ledger,
        clock,
        access: () => ({ address, fingerprint: keyFingerprint(key) }),
        budget,
      });
      const client = createClient({ http, gate, pageSize: 100, storePublicPermalink: false });
      const account = accountCheck({ mirror: writer, clock });
      const signal = new AbortController().signal;
      return await runPass(
        { client, mirror: writer, account, clock, goneAfterMs: 0, onEvent: () => undefined, signal },
        order,
      );
    },
  };
}

function startProgram({ env, folder }: TestProgram, argv: string[]): Running {
  const stop = new AbortController();
  const waiting: { text: string; resolve: () => void }[] = [];
  let stdout = '';
  let stderr = '';
  const notify = (): void => {
    for (const { text, resolve } of waiting) if ((stdout + stderr).includes(text)) resolve();
  };
  const io = {
    env,
    cwd: folder,
    stdout: {
      write(text: string) {
        stdout += text;
        notify();
      },
    },
    stderr: {
      write(text: string) {
        stderr += text;
        notify();
      },
    },
    signal: stop.signal,
  };
  const ended = runProgram(argv, io, '0.0.0-test').then((exitCode) => {
    expect(stdout + stderr, 'the key is nowhere in the output').not.toContain(SECRET);
    return { exitCode, stdout, stderr };
  });
  return {
    ended,
    interrupt: () => stop.abort(new MirrorError('STOPPED', 'Stopped by SIGINT.')),
    printed: async (text) => {
      const printed = new Promise<void>((resolve) => {
        waiting.push({ text, resolve });
        notify();
      });
      const first = await Promise.race([printed, ended]);
      if (first !== undefined && !(first.stdout + first.stderr).includes(text))
        throw new Error(
          `it ended with ${first.exitCode} and never printed "${text}": ${first.stdout}${first.stderr}`,
        );
    },
  };
}

const rows = async (database: Database): Promise<unknown[]> =>
  await database.query(`SELECT id, kind, state, ordered, accept_deletes FROM sync_requests ORDER BY id`);

test('sync beside a daemon sends no request and prints the report of the daemon’s pass', async () => {
  const { program, database, start, daemon, carryOut } = await worldOf();
  const { writer } = await daemon();
  const sync = start('sync');
  await sync.printed('The daemon does this as order 1; Ctrl-C does not stop it.');
  expect(program.sandbox.arrivals).toEqual([]);
  await carryOut(writer);
  const { exitCode, stdout, stderr } = await sync.ended;
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/Support \(\d+\) +conversations +230 +230 +0 +0 +complete/);
  expect(stderr).toContain(`7 of 7 lists complete: ${SMALL_REQUESTS} requests`);
  expect(stderr).toContain('"list":"inboxes","rows":2,"inserted":2');
  expect(program.sandbox.arrivals, 'no page was read twice').toHaveLength(SMALL_REQUESTS);
  expect(await rows(database)).toMatchObject([{ kind: 'sync', state: 'done', ordered: true }]);
});

test('sync --json prints the same JSON with and without a daemon, except for the order', async () => {
  const own = await worldOf();
  const ordered = await worldOf();
  const { writer } = await ordered.daemon();
  const sync = ordered.start('sync', '--json');
  await sync.printed('as order 1');
  await ordered.carryOut(writer);
  const theirs = JSON.parse((await sync.ended).stdout) as { lists: { list: string }[]; seconds: number };
  const ours = JSON.parse((await own.program.run('sync', '--json')).stdout) as typeof theirs;
  const sorted = ({ lists }: typeof ours): unknown =>
    lists.map((list) => JSON.stringify({ ...list, inbox_id: null })).sort();
  expect(sorted(theirs)).toEqual(sorted(ours));
  expect(ours).toMatchObject({ order: null, complete: true, requests: SMALL_REQUESTS, stopped: null });
  expect(theirs).toMatchObject({
    order: 1,
    complete: true,
    requests: SMALL_REQUESTS,
    stopped: null,
    resumed: false,
  });
  expect(Object.keys(theirs)).toEqual(Object.keys(ours));
});

test('sync --detach places the same order once, prints its id and sends no request', async () => {
  const { program, database, daemon } = await worldOf();
  await daemon();
  expect(await program.run('sync', '--detach', '--json')).toMatchObject({
    exitCode: 0,
    stdout: '{"order":1,"joined":false}\n',
  });
  expect((await program.run('sync', '--detach', '--json')).stdout).toBe('{"order":1,"joined":true}\n');
  expect((await program.run('sync', '--detach')).stdout).toMatch(
    /^The same sync is already ordered, .+, as order 1; `npx inbox-/,
  );
  const resync = await program.run('resync', 'tags', '--accept-deletes', '--detach', '--json');
  expect(resync).toMatchObject({ exitCode: 0, stdout: '{"order":2,"joined":false}\n' });
  expect((await program.run('resync', 'users', '--detach')).stdout).toMatch(
    /^A resync of .+\n[^]*\nOrder 3 is with the daemon; `npx inbox-mirror status` shows it\.\n$/,
  );
  expect(await rows(database)).toMatchObject([
    { kind: 'sync', state: 'open', ordered: true, accept_deletes: false },
    { kind: 'resync', state: 'open', ordered: true, accept_deletes: true },
    { kind: 'resync', state: 'open', ordered: true, accept_deletes: false },
  ]);
  expect(program.sandbox.arrivals).toEqual([]);
});

test('sync --detach without a daemon places the order and warns that it waits for one', async () => {
  const { program, database } = await worldOf();
  expect(await program.run('sync', '--detach', '--json')).toMatchObject({
    exitCode: 0,
    stdout: '{"order":1,"joined":false}\n',
    stderr: expect.stringContaining(
      'No daemon is running: order 1 waits for one, or for this command without --detach.',
    ) as string,
  });
  expect(await rows(database)).toMatchObject([{ state: 'open' }]);
});

/** Makes the daemon one whose key was refused some seconds ago. */
async function refuseDaemonKey({ database }: World, { ledger }: Writer): Promise<void> {
  const earlier = iso(Date.now() - 10_000);
  await ledger.refuseKey('another key', 'HTTP 401', Date.now());
  await database.execute(`UPDATE gate_state SET refused_at = $1`, earlier);
  await database.execute(`UPDATE leases SET acquired_at = $1 WHERE name = 'writer'`, earlier);
}

test('a program’s sync takes the mirror over too, and leaves no refused key behind', async () => {
  const world = await worldOf();
  const { program, database } = world;
  const { writer } = await world.daemon();
  await refuseDaemonKey(world, writer);
  const mirror = await openMirror({ env: program.env, cwd: program.folder });
  onTestFinished(() => mirror.close());
  expect(await mirror.sync({ lists: ['tags'] })).toMatchObject({ complete: true, order: null });
  expect(await mirrorOn(database).ledger.gateState()).toMatchObject({ refusedKey: null });
});

test('beside a daemon whose key the service refuses, --detach warns, and a sync does the work itself', async () => {
  const world = await worldOf();
  const { program } = world;
  const { writer } = await world.daemon();
  // The own key was refused two hours ago, and works now.
  const own = `${keyFingerprint(SECRET)} ${program.env['INBOX_API_URL']}`;
  await writer.ledger.refuseKey(own, 'HTTP 401', Date.now() - 2 * HOUR);
  await refuseDaemonKey(world, writer);
  expect((await program.run('sync', '--detach')).stderr).toContain(
    `The service refuses the key of the daemon on ${hostname()}, so order 1 will fail`,
  );
  await refuseDaemonKey(world, writer);
  expect(await program.run('sync', 'tags')).toMatchObject({ exitCode: 0 });
  expect(program.sandbox.arrivals).not.toEqual([]);
});

test('a sync whose order fails for the key of the daemon does the work with its own', async () => {
  const world = await worldOf();
  const { program } = world;
  const { writer } = await world.daemon();
  const running = world.start('sync', 'tags');
  await running.printed('as order 1');
  await refuseDaemonKey(world, writer);
  const stopped = new MirrorError('KEY_REFUSED', 'The service refused the API key.');
  const failed = {
    state: 'failed',
    error: stopped.message,
    report: asRecord({ lists: [], stopped }),
  } as const;
  await writer.passes.end(1, failed, Date.now());
  const { exitCode, stdout } = await running.ended;
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('complete')]);
  expect(program.sandbox.arrivals).not.toEqual([]);
});

test('a daemon that has just taken the mirror over is spared, whatever key was refused before', async () => {
  const { program, database, daemon } = await worldOf();
  const { writer } = await daemon();
  await writer.ledger.refuseKey('another key', 'HTTP 401', Date.now());
  await database.execute(`UPDATE gate_state SET refused_at = $1`, iso(Date.now() - 10_000));
  expect((await program.run('sync', '--detach')).stderr).not.toContain('refuses the key');
  expect(program.sandbox.arrivals).toEqual([]);
});

test('resync --dry-run beside a daemon prints a forecast and places no order', async () => {
  const { program, database, daemon } = await worldOf();
  await daemon();
  for (const argv of [
    ['resync', '--dry-run'],
    ['resync', '--dry-run', '--detach', '--json'],
  ])
    expect(await program.run(...argv)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('request') as string,
    });
  expect(await rows(database)).toEqual([]);
});

test('resync beside a daemon prints its cost first, then follows its order', async () => {
  const { start, daemon, carryOut } = await worldOf();
  const { writer } = await daemon();
  const resync = start('resync');
  await resync.printed('as order 1');
  await carryOut(writer);
  expect(await resync.ended).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^A resync of /) as string,
    stderr: expect.stringContaining('7 of 7 lists complete') as string,
  });
});

test('sync follows the same order where it is already under way, and places no second one', async () => {
  const { program, database, start, daemon, carryOut } = await worldOf();
  const { writer } = await daemon();
  const threeMinutesAgo = Date.now() - 180_000;
  const { id } = await mirrorOn(database).orders.place(
    { ...PLAIN, requestedBy: 'inbox-mirror sync' },
    threeMinutesAgo,
  );
  await writer.passes.begin({ ...PLAIN, requestedBy: 'inbox-mirror sync', orderId: id }, threeMinutesAgo);
  const sync = start('sync');
  await sync.printed('ago; following it.');
  await carryOut(writer);
  const { exitCode, stderr } = await sync.ended;
  expect(stderr).toMatch(/The same sync is already running, begun 3 min( \d+ s)? ago; following it\./);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr: expect.stringContaining('7 of 7 lists complete') as string,
  });
  expect(program.sandbox.arrivals).toHaveLength(SMALL_REQUESTS);
  expect(await rows(database)).toHaveLength(1);
});

test('an ordered sync exits 1 on a failed list, 2 on an unknown inbox, 3 on a refused key', async () => {
  const { program, start, daemon, carryOut, database, clock } = await worldOf();
  const { writer } = await daemon();
  program.sandbox.script(({ path }) =>
    path.includes('/tags') ? { status: 404, body: '{"errors":[{"message":"no tags here"}]}' } : undefined,
  );
  const failed = start('sync');
  await failed.printed('as order 1');
  await carryOut(writer);
  expect(await failed.ended).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /failed: tags of Support \(20117\): .*no tags here[^]*5 of 7 lists complete/,
    ) as string,
  });
  program.sandbox.script(undefined);

  const unknown = start('sync', '--inbox', '999');
  await unknown.printed('as order 2');
  await expect(carryOut(writer)).rejects.toMatchObject({ code: 'USAGE' });
  expect(await unknown.ended).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('error: The service has no inbox 999') as string,
  });

  program.env['INBOX_API_KEY'] = 'wrong-key';
  const refused = start('sync', '--json');
  await refused.printed('as order 3');
  const report = await carryOut(writer);
  await writer.passes.end(
    3,
    { state: 'failed', error: 'key refused', report: asRecord(report) },
    clock.now(),
  );
  const { exitCode, stdout } = await refused.ended;
  expect(exitCode).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ order: 3, complete: false, stopped: { code: 'KEY_REFUSED' } });
  expect(await mirrorOn(database).orders.read(3)).toMatchObject({ state: 'failed' });
});

test('sync exits 1 and prints the reason when the daemon gives the order up without a report', async () => {
  const { start, daemon, clock } = await worldOf();
  const { writer } = await daemon();
  const sync = start('sync');
  await sync.printed('as order 1');
  await writer.passes.end(1, { state: 'failed', error: 'the disk is full' }, clock.now());
  expect(await sync.ended).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('failed: the daemon gave up order 1: the disk is full') as string,
  });
});

test('a sync warns if the daemon has last read the service with another key', async () => {
  const { program, start, daemon, carryOut } = await worldOf();
  const { writer } = await daemon();
  const { INBOX_API_URL: address = '' } = program.env;
  await writer.proveAccount({ address, fingerprint: keyFingerprint('another key') });
  const warning = 'The daemon last read the service with another key or address than those of this command.';
  const sync = start('sync');
  await sync.printed('as order 1');
  await carryOut(writer);
  expect((await sync.ended).stderr).toContain(warning);
  await writer.proveAccount({ address: 'https://other.example/v1', fingerprint: keyFingerprint(SECRET) });
  expect((await program.run('resync', '--detach')).stderr).toContain(warning);
  await writer.proveAccount({ address, fingerprint: keyFingerprint(SECRET) });
  expect((await program.run('sync', '--detach')).stderr).not.toContain(warning);
});

test('a sync does not speak of another key before the daemon has read, or while another account shows', async () => {
  const { program, daemon, clock } = await worldOf();
  const { writer } = await daemon();
  const { INBOX_API_URL: address = '' } = program.env;
  expect((await program.run('sync', '--detach')).stderr).toBe('');
  await writer.proveAccount({ address, fingerprint: keyFingerprint('another key') });
  const now = clock.now();
  const wrong = { address: 'https://wrong.example/v1', fingerprint: keyFingerprint(SECRET) };
  await writer.refuseAccount(wrong, 'another account', { now, until: now + HOUR });
  expect((await program.run('sync', '--detach')).stderr).not.toContain('another key or address');
});

test('a sync whose order a person cancels before its turn reports no request of the order before it', async () => {
  const { program, database, start, daemon, carryOut, clock } = await worldOf();
  const { writer } = await daemon();
  const { orders } = mirrorOn(database);
  await orders.place({ ...PLAIN, kind: 'resync', requestedBy: 'inbox-mirror resync' }, clock.now());
  const sync = start('sync');
  await sync.printed('as order 2');
  await carryOut(writer);
  expect(program.sandbox.arrivals).toHaveLength(SMALL_REQUESTS);
  await orders.cancel(2, clock.now());
  const { exitCode, stderr } = await sync.ended;
  expect(exitCode).toBe(1);
  expect(stderr).toContain('0 of 7 lists complete: 0 requests in ');
  expect(stderr).toContain('failed: order 2 was cancelled by a person');
});

test('a sync of the library rejects with STOPPED when a person cancels its order', async () => {
  const { program, database, daemon, clock } = await worldOf();
  await daemon();
  const { orders } = mirrorOn(database);
  const mirror = await openMirror({ env: program.env, cwd: program.folder });
  onTestFinished(() => mirror.close());
  const synced = mirror.sync();
  const failure = { code: 'STOPPED', message: 'order 1 was cancelled by a person' };
  const rejected = expect(synced).rejects.toMatchObject(failure);
  await vi.waitUntil(async () => (await orders.next()) !== null);
  await orders.cancel(1, clock.now());
  await rejected;
});

test('on Ctrl-C sync leaves the order to the daemon, reports that and exits 130', async () => {
  const { program, database, start, daemon, carryOut } = await worldOf();
  const { writer } = await daemon();
  const words = start('sync');
  await words.printed('as order 1');
  words.interrupt();
  expect(await words.ended).toMatchObject({
    exitCode: 130,
    stdout: '',
    stderr: expect.stringContaining(
      'The daemon continues with order 1; `npx inbox-mirror status` shows it.',
    ) as string,
  });
  const json = start('sync', '--json');
  await json.printed('following it');
  json.interrupt();
  const { exitCode, stdout } = await json.ended;
  expect(exitCode).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ order: 1, complete: false, stopped: { code: 'STOPPED' } });
  expect(await rows(database)).toMatchObject([{ state: 'open' }]);
  expect((await carryOut(writer)).stopped).toBeNull();
  expect(program.sandbox.arrivals).toHaveLength(SMALL_REQUESTS);
});

test('sync exits 4 if its order must wait for long, and prints when the daemon resumes it', async () => {
  const { start, daemon, clock } = await worldOf();
  const { writer } = await daemon();
  const until = new Date(clock.now() + 600_000);
  await writer.writeOutage({ since: new Date(clock.now()), until, cause: 'ECONNREFUSED' });
  const sync = start('sync', '--json');
  const { exitCode, stdout, stderr } = await sync.ended;
  expect(exitCode).toBe(4);
  expect(stderr).toContain(
    `The daemon waits until ${until.toISOString()}: the service is out of reach (ECONNREFUSED).`,
  );
  const { stopped } = JSON.parse(stdout) as { stopped: { code: string; message: string; resume_at: string } };
  expect(stopped).toMatchObject({ code: 'SERVICE_DOWN', resume_at: until.toISOString() });
  expect(stopped.message).toMatch(
    /^Order 1 stays with the daemon, which resumes at \S+Z, in (9|10) min.*`inbox-mirror status` shows it\.$/,
  );
});

test('sync does the work itself when the daemon has ended and its order was withdrawn', async () => {
  const { program, database, start, daemon, clock } = await worldOf();
  const { lease } = await daemon();
  const sync = start('sync', '--json');
  await sync.printed('as order 1');
  await lease.release();
  await mirrorOn(database).orders.withdraw(1, clock.now());
  const { exitCode, stdout, stderr } = await sync.ended;
  expect(exitCode).toBe(0);
  expect(stderr).toContain('The daemon stopped before it began the order; this command does the work.');
  expect(JSON.parse(stdout)).toMatchObject({ order: null, complete: true, requests: SMALL_REQUESTS });
  expect(program.sandbox.arrivals).toHaveLength(SMALL_REQUESTS);
  expect(await rows(database)).toMatchObject([
    { state: 'abandoned', ordered: true },
    { state: 'done', ordered: false },
  ]);
});

test('sync hands its order to a daemon that starts between the check and the claim', async () => {
  const { database, start, carryOut, clock } = await worldOf();
  const [now, end] = [0, 20_000].map((ms) => iso(clock.now() + ms));
  await database.execute(
    `CREATE TRIGGER daemon_is_first BEFORE INSERT ON leases WHEN NEW.command = 'inbox-mirror sync' AND NOT EXISTS (SELECT 1 FROM leases WHERE name = 'writer')
     BEGIN INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at)
       VALUES ('writer', 'daemon', '${hostname()}', ${DAEMON_PID}, 'inbox-mirror start', '${now}', '${now}', '${end}'); END`,
  );
  const sync = start('sync');
  await sync.printed('as order 1');
  const lease: Lease = { holder: 'daemon', renew: () => Promise.resolve(), release: () => Promise.resolve() };
  await carryOut(openWriter(database, lease));
  expect((await sync.ended).exitCode).toBe(0);
  expect(await rows(database)).toMatchObject([{ ordered: true, state: 'done' }]);
});

test('sync exits 4 and places no order while another command holds the lease', async () => {
  const { program, database, clock } = await worldOf();
  const claimant = { host: hostname(), pid: DAEMON_PID, now: clock.now, isAlive: () => true };
  await acquireLease(database, { ...claimant, command: 'inbox-mirror resync' });
  expect(await program.run('sync')).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('`inbox-mirror resync`, process') as string,
  });
  expect(await rows(database)).toEqual([]);
});

test('sync does the work itself when a dead daemon has left its lease behind', async () => {
  const { program, database, clock } = await worldOf();
  const deadPid = 2 ** 22 + 1;
  const claimant = { host: hostname(), pid: deadPid, now: clock.now, isAlive: () => true };
  await acquireLease(database, { ...claimant, command: 'inbox-mirror start' });
  expect((await program.run('sync')).exitCode).toBe(0);
  expect(await rows(database)).toMatchObject([{ ordered: false, state: 'done' }]);
});
