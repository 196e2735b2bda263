import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { DatabaseLedger } from '../../../src/mirror/gate/ledger.ts';
import { ENTRY } from '../../service/gate/bench.ts';
import { TestClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/mirror.ts';
import { casesOf, rule } from '../../support/rule.ts';
import { freshMirrorFile } from '../../support/template.ts';

const LIMITS = { gapMs: SECOND, unansweredMs: SECOND, cap: 5000, ownIds: [], bootAt: null };

/** A host that runs a command by cron; `isRefused`: the service, or its proxy, answers 401. */
interface Host {
  readonly name: string;
  readonly isRefused: boolean;
  readonly everyMs: number;
  readonly firstMs: number;
  readonly key?: string;
}

/** A run that sent its request. */
interface Sent {
  readonly host: string;
  readonly at: number;
  readonly refused: boolean;
}

/** Lets hosts that share a mirror run by cron for so long. */
async function runs(forMs: number, ...hosts: readonly Host[]): Promise<Sent[]> {
  const clock = new TestClock();
  const begun = clock.now();
  const database = await temporaryDatabase(await freshMirrorFile());
  const ledgers = new Map(hosts.map(({ name }) => [name, new DatabaseLedger(database, name)]));
  const sent: Sent[] = [];
  const times = hosts.flatMap((host) =>
    Array.from({ length: Math.ceil((forMs - host.firstMs) / host.everyMs) }, (_, nth) => ({
      host,
      at: host.firstMs + nth * host.everyMs,
    })),
  );
  for (const { host, at } of times.toSorted((a, b) => a.at - b.at)) {
    const { name, isRefused, key: access = 'key' } = host;
    const ledger = ledgers.get(name)!;
    const now = begun + at;
    await ledger.retryKey(access, now);
    const grant = await ledger.grant(ENTRY, { ...LIMITS, access }, now);
    if (!grant.granted) continue;
    sent.push({ host: name, at, refused: isRefused });
    if (isRefused) await ledger.refuseKey(access, 'HTTP 401', now);
    const status = isRefused ? 401 : 200;
    await ledger.settle(grant.id, { status, durationMs: 50, items: null, error: null, serviceAt: null });
  }
  return sent;
}

const often = { everyMs: 15 * MINUTE, firstMs: 0 };
const ok = { name: 'healthy', isRefused: false };
const bad = { name: 'refused', isRefused: true };

test.each(
  casesOf<[string, Host, Host, number]>(
    [
      [
        'both each hour',
        { ...ok, everyMs: HOUR, firstMs: HOUR },
        { ...bad, everyMs: HOUR, firstMs: 30 * MINUTE },
        2,
      ],
      [
        'both each day',
        { ...ok, everyMs: DAY, firstMs: 10 * MINUTE },
        { ...bad, everyMs: DAY, firstMs: 0 },
        48,
      ],
      [
        'one each day, the other often',
        { ...ok, everyMs: DAY, firstMs: 10 * MINUTE },
        { ...bad, ...often },
        48,
      ],
      ['both often', { ...ok, ...often, firstMs: MINUTE }, { ...bad, ...often }, 2],
    ],
    1,
  ),
)('a host that is refused leaves turns to one that is not: %s', async (_, healthy, refused, hours) => {
  const sent = await runs(6 * DAY, healthy, refused);
  const good = [0, ...sent.filter(({ host }) => host === ok.name).map(({ at }) => at), 6 * DAY];
  const gaps = good.slice(1).map((at, nth) => at - good[nth]!);
  expect(Math.max(...gaps) / HOUR).toBeLessThanOrEqual(hours + 1);
  expectOneAnHour(sent);
  expect(sent.filter((one) => one.refused).length).toBeGreaterThan(2);
});

rule('several hosts that are refused leave turns to one that is not', async () => {
  const others = ['b', 'c', 'd'].map((name, nth) => ({ ...bad, ...often, name, firstMs: nth * MINUTE }));
  const sent = await runs(4 * DAY, { ...ok, everyMs: HOUR, firstMs: 31 * MINUTE }, ...others);
  expect(sent.filter(({ host }) => host === ok.name).length).toBeGreaterThan(24);
  expectOneAnHour(sent);
});

test('a key that every host is refused with is sent once an hour, also if each run has a host of its own', async () => {
  const [b, c] = ['b', 'c'].map((name) => ({ ...bad, ...often, name })) as [Host, Host];
  const pods = Array.from({ length: 96 }, (_, nth) => ({
    ...bad,
    name: `pod-${nth}`,
    everyMs: DAY,
    firstMs: nth * 15 * MINUTE,
  }));
  for (const hosts of [[b], [b, c], pods]) {
    const sent = await runs(DAY, ...hosts);
    expectOneAnHour(sent);
    expect(sent).toHaveLength(24);
  }
});

rule('a host that no longer runs keeps the others from a refused key for a day at most', async () => {
  const gone = { ...bad, name: 'gone', everyMs: 9 * DAY, firstMs: 30 * MINUTE };
  const sent = await runs(4 * DAY, { ...bad, ...often }, gone);
  expect(sent.length).toBeGreaterThan(48);
});

test('each of several keys is sent once an hour beside one that works', async () => {
  const keys = ['old', 'older'].map((key) => ({ ...bad, ...often, name: `host of ${key}`, key }));
  const sent = await runs(DAY, { ...ok, ...often, firstMs: MINUTE }, ...keys);
  for (const { name } of keys) {
    const refused = sent.filter(({ host }) => host === name);
    expectOneAnHour(refused);
    expect(refused).toHaveLength(24);
  }
  expect(sent.filter(({ host }) => host === ok.name)).toHaveLength(96);
});

test('a gate that a person opens while a slot is refused for the key stays open', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const ledger = new DatabaseLedger(database);
  const now = new TestClock().now();
  await ledger.refuseKey('refused', 'HTTP 401', now);
  // The gate is open for other keys only.
  await ledger.clearOtherRefusal('another');
  const openedMeanwhile = new DatabaseLedger({
    ...database,
    async execute(...statement) {
      await ledger.openGate(now);
      return await database.execute(...statement);
    },
  });
  const limits = { ...LIMITS, access: 'refused' };
  expect(await openedMeanwhile.grant(ENTRY, limits, now)).toMatchObject({ because: 'key' });
  expect(await ledger.gateState()).toMatchObject({ refusedKey: null });
  expect(await ledger.grant(ENTRY, limits, now)).toMatchObject({ granted: true });
});

/** No request with a refused key follows another one within an hour. */
function expectOneAnHour(sent: readonly Sent[]): void {
  const refused = sent.filter((one) => one.refused).map(({ at }) => at);
  const gaps = refused.slice(1).map((at, nth) => at - refused[nth]!);
  expect(Math.min(HOUR, ...gaps)).toBe(HOUR);
}
