import { expect, onTestFinished, test } from 'vitest';
import { type Clock, HOUR, MINUTE } from '../../src/core/clock.ts';
import { isMirrorError } from '../../src/core/errors.ts';
import { openDatabase } from '../../src/database/open.ts';
import { DatabaseLedger } from '../../src/mirror/gate/ledger.ts';
import { acquireLease } from '../../src/mirror/lease.ts';
import { sharedClock, systemClock } from '../../src/session/clock.ts';
import { ENTRY } from '../service/gate/bench.ts';
import { freshMirrorFile } from '../support/template.ts';

/** A host's clock that is wrong by `by.ms`. A test can change `by.ms` while the clock runs. */
function wrongClock(by: { ms: number }): Clock {
  const right = systemClock();
  return {
    ...right,
    now: () => right.now() + by.ms,
    boot: () => ({ id: 'boot', at: (right.boot()?.at ?? 0) + by.ms }),
  };
}

async function host(url: string, by: { ms: number }) {
  const database = await openDatabase(url);
  onTestFinished(() => database.close());
  const { clock, adjust } = await sharedClock(database, wrongClock(by));
  const claim = (pid: number) =>
    acquireLease(database, {
      host: `host-${by.ms}`,
      pid,
      command: 'inbox-mirror start',
      now: clock.now,
      isAlive: () => true,
    });
  return { database, clock, adjust, claim, ledger: new DatabaseLedger(database) };
}

test('hosts whose clocks differ by minutes respect each other’s lease in both directions', async () => {
  const url = await freshMirrorFile();
  const ahead = await host(url, { ms: 7 * MINUTE });
  const behind = await host(url, { ms: -7 * MINUTE });
  for (const [first, second] of [
    [ahead, behind],
    [behind, ahead],
  ] as const) {
    const lease = await first.claim(1);
    const refused = await second.claim(2).catch((error: unknown) => error);
    expect(isMirrorError(refused, 'LEASE_HELD')).toBe(true);
    await lease.release();
  }
});

test('hosts whose clocks differ by a day share one day budget', async () => {
  const url = await freshMirrorFile();
  // A host knows the server's time to some milliseconds, more if it is busy. Negative gaps switch the spacing
  // off, which would refuse a slot that lies before the last one.
  const spacing = { gapMs: -MINUTE, unansweredMs: -MINUTE };
  const limits = { ...spacing, cap: 2, access: 'x', ownIds: [], bootAt: null };
  const hosts = [
    await host(url, { ms: 0 }),
    await host(url, { ms: 25 * HOUR }),
    await host(url, { ms: -25 * HOUR }),
  ];
  const granted: boolean[] = [];
  for (const { ledger, clock } of hosts) {
    await ledger.followClock(await clock.ledgerTime());
    granted.push((await ledger.grant(ENTRY, limits, clock.now())).granted);
  }
  expect(granted).toEqual([true, true, false]);
});

test('the shared clock does not follow a host clock that is set, and asks the server for the ledger', async () => {
  const by = { ms: 0 };
  const { clock, adjust } = await host(await freshMirrorFile(), by);
  const off = (now: number) => Math.abs(now - Date.now());
  for (const ms of [3 * HOUR, -25 * HOUR]) {
    by.ms = ms;
    expect(off(clock.now())).toBeLessThan(5000);
    expect(off((await clock.ledgerTime()).now)).toBeLessThan(5000);
  }
  await adjust();
  expect(off(clock.now())).toBeLessThan(5000);
  // No machine vouches for the time of a server.
  expect([clock.boot(), (await clock.ledgerTime()).boot]).toEqual([null, null]);
});

test('the ledger gets the server’s time although the machine does not count an hour that it stood still', async () => {
  const database = await openDatabase(await freshMirrorFile());
  onTestFinished(() => database.close());
  const right = systemClock();
  let lostMs = 0;
  const boot = () => ({ id: 'boot', at: (right.boot()?.at ?? 0) + lostMs });
  const { clock } = await sharedClock(database, { ...right, boot });
  lostMs = HOUR;
  expect(Math.abs((await clock.ledgerTime()).now - Date.now())).toBeLessThan(5000);
  expect(Math.abs(clock.now() - Date.now()), 'the shared clock follows').toBeLessThan(5000);
});

test('an instant that is no date in JavaScript is read as one far ahead or long ago', async () => {
  const { database } = await host(await freshMirrorFile(), { ms: 0 });
  const [row] = await database.query<Record<string, Date>>(
    `SELECT CAST('infinity' AS timestamptz) AS never, CAST('294276-12-31 23:59:59+00' AS timestamptz) AS last,
       CAST('12026-01-01 00:00:00+00' AS timestamptz) AS far, CAST('-infinity' AS timestamptz) AS always,
       CAST('0044-03-15 00:00:00+00 BC' AS timestamptz) AS before, CAST('2026-03-02Z' AS timestamptz) AS usual`,
  );
  const { never, last, far, always, before, usual } = row!;
  for (const ahead of [never, last, far]) expect(ahead).toEqual(new Date('9000-01-01'));
  for (const past of [always, before]) expect(past).toEqual(new Date('1000-01-01'));
  expect(usual).toEqual(new Date('2026-03-02'));
});
