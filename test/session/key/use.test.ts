import { execFile } from 'node:child_process';
import fs, {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Budget } from '../../../src/core/budget.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import type { Database } from '../../../src/database/database.ts';
import { iso } from '../../../src/database/instants.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import { stateFolder } from '../../../src/session/config/state-folder.ts';
import { KeyRecords } from '../../../src/session/key/records.ts';
import { type KeyUse, openKeyUse, othersWarning } from '../../../src/session/key/use.ts';
import { TestClock } from '../../support/clock.ts';
import { cpuMs } from '../../support/cpu.ts';
import { temporaryDatabase, temporaryFolder } from '../../support/mirror.ts';
import { freshMirrorFile } from '../../support/template.ts';

const BUDGET: Budget = { perSecond: 1, perDay: 100, reserved: 10, pageSize: 100 };

/** Two mirrors. */
const [M, N] = [
  { name: 'm.db', id: '1' },
  { name: 'n.db', id: '2' },
];

interface Used {
  readonly use: KeyUse;
  readonly troubles: string[];
  readonly database: Database;
  /** Records requests as the gate does. */
  send(requests: number): Promise<void>;
}

async function mirrorWith(
  folder: string | null,
  clock: TestClock,
  {
    perDay = 100,
    key = 'fingerprint',
    name,
    path,
  }: { perDay?: number; key?: string | (() => string); name?: string; path?: string } = {},
): Promise<Used> {
  const database = await temporaryDatabase(path ?? (await freshMirrorFile()));
  const troubles: string[] = [];
  const mirror = mirrorOn(database);
  await mirror.ensureId();
  const use = openKeyUse({
    configured: { ...BUDGET, perDay },
    mirror: name === undefined ? mirror : { ...mirror, name },
    clock,
    machineNow: clock.now,
    folder,
    scope: () => (typeof key === 'string' ? key : key()),
    onTrouble: (cause) => troubles.push(cause),
  });
  await use.refresh();
  return {
    use,
    troubles,
    database,
    async send(requests) {
      for (let nth = 0; nth < requests; nth += 1) {
        const [row] = await database.query<{ id: number }>(
          `INSERT INTO requests (sent_at, method, path, reason)
           VALUES ($1, 'GET', '/inboxes', 'manual') RETURNING id`,
          iso(clock.now()),
        );
        use.granted({ id: row?.id ?? 0, sentAt: clock.now() });
      }
    },
  };
}

test('the requests of another mirror with the same key lower the budget, in both directions', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  const [one, other] = [await mirrorWith(folder, clock), await mirrorWith(folder, clock)];
  await one.send(30);
  expect(other.use.budget).toMatchObject({ perDay: 70, reserved: 7 });
  expect(other.use.budget.lowered).toMatch(/^another mirror, .*\.db, uses this key and sent 30 requests/);
  expect(one.use.budget).toMatchObject({ perDay: 100, reserved: 10, lowered: null });
  await other.send(20);
  await clock.sleep(SECOND);
  expect(one.use.budget.perDay).toBe(80);
});

test('mirrors with other keys do not count, and a new key counts at once', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  const other = await mirrorWith(folder, clock, { key: 'other' });
  await other.send(30);
  expect((await mirrorWith(folder, clock)).use.others()).toEqual([]);
  expect((await mirrorWith(folder, clock, { key: 'other' })).use.others()).toMatchObject([{ sent: 30 }]);
});

test('after the key is renewed, the requests of another mirror with the old one count once', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  let key = 'old-service';
  const keyed = { key: () => key };
  const [one, other] = [await mirrorWith(folder, clock, keyed), await mirrorWith(folder, clock, keyed)];
  await one.send(5);
  await other.send(30);
  key = 'new-service';
  await clock.sleep(SECOND);
  expect(one.use.budget.perDay).toBe(70);
  await one.send(1);
  expect(other.use.budget.perDay).toBe(94);
  await other.send(1);
  await clock.sleep(SECOND);
  expect(one.use.budget.perDay).toBe(69);
});

test('each mirror may keep to a share: the largest REQUESTS_PER_DAY is the limit of the key', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  const small = await mirrorWith(folder, clock, { perDay: 40 });
  const large = await mirrorWith(folder, clock, { perDay: 100 });
  await large.send(50);
  expect(small.use.budget.perDay).toBe(40);
  await small.send(40);
  await clock.sleep(SECOND);
  expect(large.use.budget.perDay).toBe(60);
  await large.send(20);
  await clock.sleep(SECOND);
  expect(small.use.budget.perDay).toBe(30);
});

test('a mirror that is deleted and made again keeps to what the deleted one left of the day', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  await (await mirrorWith(folder, clock, { name: 'm.db' })).send(60);
  const second = await mirrorWith(folder, clock, { name: 'm.db' });
  expect(second.use.budget).toMatchObject({ perDay: 40, isUsedUp: false });
  expect(second.use.budget.lowered).toBe(
    'an earlier mirror at m.db used this key and sent 60 requests in the last day',
  );
  await second.send(40);
  const third = await mirrorWith(folder, clock, { name: 'm.db' });
  expect(third.use.budget.isUsedUp).toBe(true);
  expect(third.use.budget.lowered).toBe(
    '2 earlier mirrors at m.db used this key and sent 100 requests in the last day',
  );
  const warning = othersWarning(
    third.use
      .others()
      .map((mirror, nth) => ({ ...mirror, record: join(homedir(), `.state/keys/a/${nth}.json`) })),
  );
  expect(warning).toMatch(
    / in the last day, which count here for a day\. .* delete ~\/\.state\/keys\/a\/\{0,1\}\.json$/,
  );
  expect(warning.length, '4 lines').toBeLessThan(300);
});

describe('a mirror at a new place', () => {
  async function moved() {
    const [folder, clock] = [temporaryFolder(), new TestClock()];
    const old = await mirrorWith(folder, clock, { name: 'old.db' });
    await old.send(60);
    const copy = join(temporaryFolder(), 'new.db');
    await old.database.execute(`VACUUM INTO '${copy}'`);
    const here = await mirrorWith(folder, clock, { name: 'new.db', path: copy });
    await clock.sleep(2 * SECOND);
    return { old, here, folder, clock };
  }

  test('counts the requests of its former place once: its ledger has them', async () => {
    const { here } = await moved();
    expect(here.use.others()).toEqual([]);
    expect(here.use.budget.perDay).toBe(100);
  });

  test('counts those of its original as well if that sends another, and warns with the cause', async () => {
    const { old, here } = await moved();
    await old.send(1);
    const warning = othersWarning(here.use.others());
    expect(warning).toMatch(
      /^a copy of this mirror, or its former place, old\.db, uses this key and sent 61 req/,
    );
    expect(warning).toMatch(/\. If this mirror was moved from there, they count twice: delete .*\.json$/);
    await here.use.refresh();
    expect(here.use.budget.perDay).toBe(39);
  });

  test('counts once at a third mirror too, from its first request at the new place', async () => {
    const { here, folder, clock } = await moved();
    const third = await mirrorWith(folder, clock);
    await here.send(3);
    expect(third.use.others()).toMatchObject([{ name: 'new.db', sent: 63 }]);
    expect(here.use.others()).toEqual([]);
    expect(here.use.budget.perDay).toBe(100);
  });

  test('leaves the record of its original as soon as that has sent another request', async () => {
    const { old, here, folder, clock } = await moved();
    const third = await mirrorWith(folder, clock);
    await old.send(1);
    await here.send(1);
    const sent = third.use.others().map((mirror) => [mirror.name, mirror.sent]);
    expect(Object.fromEntries(sent)).toEqual({ 'old.db': 61, 'new.db': 61 });
  });

  test('tells the requests of two copies apart, although their ids are the same', async () => {
    const { old, here, clock } = await moved();
    await old.send(1);
    clock.advance(SECOND);
    await here.send(1);
    await here.use.refresh();
    expect(here.use.others()).toMatchObject([{ sent: 61 }]);
    await old.use.refresh();
    expect(old.use.others()).toMatchObject([{ sent: 61 }]);
  });
});

test('a mirror that is put in the place of an open one gets a record of its own', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  const { use, send, database } = await mirrorWith(folder, clock, { name: 'm.db' });
  await send(60);
  await database.execute(`DELETE FROM requests`);
  await database.execute(`UPDATE settings SET value = 'another' WHERE name = 'mirror_id'`);
  await clock.sleep(MINUTE);
  await use.refresh();
  await send(1);
  expect(use.others()).toMatchObject([{ name: 'm.db', sent: 60 }]);
});

test('requests count for a day; then the mirror and, a day later, its record are forgotten', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  const [one, other] = [await mirrorWith(folder, clock), await mirrorWith(folder, clock)];
  await one.send(10);
  await clock.sleep(12 * HOUR);
  await one.use.refresh();
  await one.send(5);
  await clock.sleep(11 * HOUR);
  expect(other.use.others()).toMatchObject([{ sent: 15 }]);
  await clock.sleep(3 * HOUR);
  expect(other.use.others()).toMatchObject([{ sent: 5 }]);
  await clock.sleep(12 * HOUR);
  expect(other.use.others()).toEqual([]);
  await clock.sleep(24 * HOUR);
  expect(other.use.others()).toEqual([]);
  expect(readdirSync(join(folder, 'keys', 'fingerprint'))).toEqual([]);
});

test('requests that a clock ahead has recorded count for a day after it is set right', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  clock.setWall(400 * DAY);
  await (await mirrorWith(folder, clock)).send(100);
  clock.setWall(-400 * DAY);
  const { use } = await mirrorWith(folder, clock);
  expect(use.budget.isUsedUp).toBe(true);
  clock.advance(26 * HOUR);
  expect(use.budget).toMatchObject({ perDay: 100, isUsedUp: false, lowered: null });
});

test('a record counts each request once, whether or not the ledger has been read since', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  const [one, other] = [await mirrorWith(folder, clock), await mirrorWith(folder, clock)];
  for (const total of [3, 6, 9]) {
    await one.send(3);
    await clock.sleep(MINUTE);
    expect(other.use.others()).toMatchObject([{ sent: total }]);
    await one.use.refresh();
  }
});

test('two processes of one mirror write one record, and are no other mirrors to each other', async () => {
  const folder = temporaryFolder();
  const [first, second] = [new KeyRecords(folder, M), new KeyRecords(folder, M)];
  for (let nth = 1; nth <= 20; nth += 1)
    (nth % 2 === 0 ? first : second).add('key', 100, { at: 0, leaving: [nth], last: null }, 0);
  expect(first.others('key', 0)).toEqual([]);
  expect(new KeyRecords(folder, N).others('key', 0)).toMatchObject([
    { name: 'm.db', isFormer: false, perDay: 100, sent: 20 },
  ]);
});

test('a process that knows less of its mirror than the record does not set it back', async () => {
  const [folder, clock] = [temporaryFolder(), new TestClock()];
  const daemon = await mirrorWith(folder, clock, { name: 'm.db' });
  const sent = (): number[] =>
    new KeyRecords(folder, N).others('fingerprint', clock.now()).map((one) => one.sent);
  const mirror = { ...mirrorOn(daemon.database), name: 'm.db' };
  const command = openKeyUse({
    configured: BUDGET,
    mirror,
    clock,
    machineNow: clock.now,
    folder,
    scope: () => 'fingerprint',
    onTrouble: (cause) => expect.fail(cause),
  });
  await command.refresh();
  for (let id = 1; id <= 55; id += 1) command.granted({ id, sentAt: clock.now() });
  await daemon.send(1);
  expect(sent()).toEqual([56]);
  await clock.sleep(23 * HOUR);
  daemon.use.granted({ id: 57, sentAt: clock.now() });
  expect(sent()).toEqual([57]);
  await clock.sleep(3 * HOUR);
  expect(sent(), 'the last request has not left the window').toEqual([1]);
});

test('two processes at once lose no request, whether or not one died while it wrote', async () => {
  const folder = temporaryFolder();
  const records = new KeyRecords(folder, M);
  records.add('key', 5000, { at: 0, leaving: [1], last: null }, 0);
  const [file = ''] = readdirSync(join(folder, 'keys', 'key'));
  const lock = join(folder, 'keys', 'key', `${file}.lock`);
  writeFileSync(lock, '');
  utimesSync(lock, 0, 0);
  const code = `import { KeyRecords } from ${JSON.stringify(join(import.meta.dirname, '../../../src/session/key/records.ts'))};
    const records = new KeyRecords(${JSON.stringify(folder)}, ${JSON.stringify(M)});
    for (let n = 0; n < 60; n += 1) records.add('key', 5000, { at: 0, leaving: [1], last: null }, 0);`;
  const run = promisify(execFile);
  const writes = run(process.execPath, ['--input-type=module', '-e', code]);
  await Promise.all([writes, run(process.execPath, ['--input-type=module', '-e', code])]);
  expect(new KeyRecords(folder, N).others('key', 0)).toMatchObject([{ sent: 121 }]);
  expect(readdirSync(join(folder, 'keys', 'key'))).toEqual([file]);
});

test('only the user may read the records; half-written and foreign files do no harm', async () => {
  const folder = join(temporaryFolder(), 'state');
  const records = new KeyRecords(folder, M);
  records.add('key', 100, { at: 0, leaving: [1], last: null }, 0);
  const inside = join(folder, 'keys', 'key');
  for (const path of [folder, join(folder, 'keys'), inside]) expect(statSync(path).mode & 0o777).toBe(0o700);
  const [file = ''] = readdirSync(inside);
  expect(statSync(join(inside, file)).mode & 0o777).toBe(0o600);
  writeFileSync(join(inside, `${file}.4711`), readFileSync(join(inside, file), 'utf8').slice(0, 20));
  writeFileSync(join(inside, 'other.json'), '{"mirror":"x","requests_per_day":5000,"at":0,"leaving":["9"]}');
  writeFileSync(join(inside, 'broken.json'), '{"mirror":');
  if (process.platform !== 'win32') symlinkSync('/dev/zero', join(inside, 'endless.json'));
  expect(new KeyRecords(folder, N).others('key', 0)).toMatchObject([
    { name: 'm.db', isFormer: false, perDay: 100, sent: 1 },
  ]);
});

test('a folder that cannot be written is reported once, and the mirror keeps its own budget', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'keys'), 'a file in the place of the folder');
  const clock = new TestClock();
  const { use, troubles, send } = await mirrorWith(folder, clock);
  await send(3);
  await clock.sleep(2 * MINUTE);
  await send(3);
  expect(use.budget).toMatchObject({ perDay: 100, reserved: 10 });
  expect(troubles).toHaveLength(1);
});

test('without a folder a mirror keeps its own budget and no record', async () => {
  const { use, troubles, send } = await mirrorWith(null, new TestClock());
  await send(3);
  expect(use.budget).toMatchObject({ perDay: 100, reserved: 10, lowered: null });
  expect({ others: use.others(), troubles }).toEqual({ others: [], troubles: [] });
});

test('a record costs a request less than 20 ms', async () => {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  const clock = new TestClock();
  for (const name of ['a', 'b', 'c', 'd'])
    new KeyRecords(folder, { name, id: '1' }).add(
      'fingerprint',
      100,
      { at: clock.now(), leaving: [1], last: null },
      clock.now(),
    );
  const { use } = await mirrorWith(folder, clock);
  const from = cpuMs();
  for (let nth = 0; nth < 100; nth += 1) {
    use.granted({ id: 1, sentAt: clock.now() });
    await clock.sleep(SECOND);
    use.others();
  }
  expect((cpuMs() - from) / 100).toBeLessThan(20);
});

test.each([
  ['linux', { HOME: '/h' }, '/h/.local/state/inbox-mirror'],
  ['linux', { HOME: '/h', XDG_STATE_HOME: '/x' }, '/x/inbox-mirror'],
  ['darwin', { HOME: '/h' }, '/h/Library/Application Support/inbox-mirror'],
  ['linux', { HOME: '/h', INBOX_STATE_DIR: 'state' }, '/data/state'],
  ['linux', {}, null],
] as const)('on %s with %j the records are in %j', (platform, env, place) => {
  expect(stateFolder(env, '/data', platform)).toBe(place);
});

/** The lock of a mirror's record, as a process that died has left it at an instant. */
function leftLock(at: Date): { folder: string; lock: string; add: () => void } {
  const folder = temporaryFolder();
  const records = new KeyRecords(folder, M);
  const now = Date.now();
  const add = (): void => records.add('key', 100, { at: now, leaving: [1], last: null }, now);
  add();
  const [file = ''] = readdirSync(join(folder, 'keys', 'key'));
  const lock = join(folder, 'keys', 'key', `${file}.lock`);
  writeFileSync(lock, '');
  utimesSync(lock, at, at);
  return { folder, lock, add };
}

test('a lock whose time is in the future is as stale as one of the past', () => {
  const { lock, add } = leftLock(new Date(Date.now() + HOUR));
  add();
  expect(statSync(lock, { throwIfNoEntry: false })).toBeUndefined();
});

test('a process does not remove the lock of another one that has just replaced a stale one', () => {
  const { lock, add } = leftLock(new Date(0));
  const { statSync: stat } = fs;
  const lookWith = (look: unknown): void => {
    Object.assign(fs, { statSync: look });
    syncBuiltinESMExports();
  };
  onTestFinished(() => lookWith(stat));
  let isReplaced = false;
  lookWith((...of: Parameters<typeof stat>) => {
    const found = stat(...of);
    if (of[0] !== lock) return found;
    if (!isReplaced) fs.rmSync(lock);
    isReplaced = true;
    // Written at each look, so that a slow host does not make it stale.
    fs.writeFileSync(lock, 'of the other process');
    return found;
  });
  add();
  expect([isReplaced, readFileSync(lock, 'utf8')]).toEqual([true, 'of the other process']);
});
