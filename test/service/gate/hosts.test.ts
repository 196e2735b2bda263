import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Clock, DAY, HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { isMirrorError } from '../../../src/core/errors.ts';
import { sharedClock } from '../../../src/session/clock.ts';
import { histories } from '../../support/histories.ts';
import { ON_SQLITE } from '../../support/provider.ts';
import { casesOf } from '../../support/rule.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { type Bench, benchOf, OK, PatientClock, type Process, times } from './bench.ts';

const START = Date.parse('2026-03-02T08:00:00.000Z');
const HISTORIES = ON_SQLITE ? histories(6, 400) : histories(3, 100);
const CAP = 4;
const BUDGET = { budget: { perSecond: 1000, perDay: CAP } };

/** A machine with a wall clock of its own. Its time passes on the bench's clock, which is the true time. */
class Machine {
  #bootId = crypto.randomUUID();
  #container = 0;
  #bootedAt: number;
  #wrongBy = 0;
  readonly clock: Clock;

  constructor(time: PatientClock) {
    this.#bootedAt = time.monotonic() - HOUR;
    const now = (): number => START + time.monotonic() + this.#wrongBy;
    const boot = () => ({
      host: `container-${this.#container}`,
      id: this.#bootId,
      at: START + this.#bootedAt + this.#wrongBy,
    });
    this.clock = {
      now,
      boot,
      monotonic: time.monotonic,
      sleep: time.sleep,
      ledgerTime: () => Promise.resolve({ now: now(), boot: boot() }),
    };
  }

  setWall(wrongBy: number): void {
    this.#wrongBy = wrongBy;
  }

  replaceContainer(): void {
    this.#container += 1;
  }

  boot(at: number): void {
    this.#bootId = crypto.randomUUID();
    this.#bootedAt = at;
  }
}

async function isGranted(process: Process): Promise<boolean> {
  try {
    await process.ask();
    return true;
  } catch (error) {
    if (isMirrorError(error, 'BUDGET_SPENT')) return false;
    throw error;
  }
}

/** Records the true times at which requests reach the service. */
function arrivalsAt({ sandbox, clock }: Bench): number[] {
  const arrivals: number[] = [];
  sandbox.script(() => {
    arrivals.push(clock.monotonic());
    return OK;
  });
  return arrivals;
}

const mostInADay = (instants: readonly number[]): number =>
  Math.max(0, ...instants.map((from) => instants.filter((at) => at >= from && at < from + DAY).length));

type Step =
  | { readonly kind: 'ask'; readonly times: number; readonly host: number }
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'set' | 'wobble' | 'replace' | 'off'; readonly host: number; readonly hours: number };

const host = fc.nat({ max: 1 });
const hours = fc.oneof(fc.integer({ min: -72, max: 72 }), fc.constantFrom(-25, 24, 25, 1000, -1000));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('ask' as const), times: fc.integer({ min: 1, max: 5 }), host }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 0, max: 26 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('set' as const, 'wobble' as const, 'replace' as const, 'off' as const),
      host,
      hours,
    }),
  },
);

/** What the service's answers say about the time. */
type Dates = 'true' | 'none' | 'sometimes';

async function play(steps: readonly Step[], dates: Dates): Promise<number[]> {
  const bench = benchOf();
  const { clock: time, start } = bench;
  const arrivals = arrivalsAt(bench);
  const path = await freshMirrorFile();
  let answers = 0;
  const date = (): string | undefined => {
    answers += 1;
    const isSent = dates === 'true' || (dates === 'sometimes' && answers % 3 === 0);
    return isSent ? new Date(START + time.monotonic()).toUTCString() : undefined;
  };
  // A file's processes are on one machine; a server's are on two.
  const first = new Machine(time);
  const machines = ON_SQLITE ? [first, first] : [first, new Machine(time)];
  const server = { serverTime: () => Promise.resolve(ON_SQLITE ? null : START + time.monotonic()) };
  const launch = async (machine: Machine) => {
    const { clock, adjust } = await sharedClock(server, machine.clock);
    return { machine, adjust, process: await start(path, { ...BUDGET, clock, date }) };
  };
  const running = [await launch(machines[0]!), await launch(machines[1]!)];
  const relaunch = async (index: number): Promise<void> => {
    await running[index]!.process.database.close();
    running[index] = await launch(running[index]!.machine);
  };
  for (const now of steps) {
    if (now.kind === 'wait') await time.sleep(now.hours * HOUR + 31 * SECOND);
    if (now.kind === 'ask') await times(now.times, () => isGranted(running[now.host]!.process));
    if (now.kind === 'set') running[now.host]!.machine.setWall(now.hours * HOUR);
    if (now.kind === 'set' && now.hours % 2 === 0) await running[now.host]!.adjust();
    if (now.kind === 'wobble') {
      running[now.host]!.machine.setWall(now.hours * HOUR);
      await isGranted(running[now.host]!.process);
      await time.sleep(5 * SECOND);
      running[now.host]!.machine.setWall(0);
    }
    if (now.kind === 'replace') {
      running[now.host]!.machine.replaceContainer();
      running[now.host]!.machine.setWall(now.hours * HOUR);
      await relaunch(now.host);
    }
    if (now.kind === 'off') {
      await time.sleep((Math.abs(now.hours) % 30) * HOUR);
      running[now.host]!.machine.boot(time.monotonic());
      running[now.host]!.machine.setWall(now.hours * HOUR);
      await relaunch(now.host);
      // Both processes of one machine end with it.
      if (ON_SQLITE) await relaunch(1 - now.host);
    }
  }
  return arrivals;
}

test.each(casesOf<Dates>(['sometimes', 'true', 'none'], 1))(
  'whatever the clocks of two hosts, their containers and boots: no 24 true hours pass the cap (dates: %s)',
  async (dates) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        expect(mostInADay(await play(steps, dates))).toBeLessThanOrEqual(CAP);
      }),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);

test.runIf(ON_SQLITE)(
  'four new containers whose clocks are each a day ahead get no request more',
  async () => {
    const bench = benchOf();
    const { clock, start } = bench;
    const arrivals = arrivalsAt(bench);
    const path = await freshMirrorFile();
    for (let container = 0; container < 4; container += 1) {
      const process = await start(path, BUDGET);
      await times(CAP + 1, () => isGranted(process));
      await process.database.close();
      clock.replaceContainer();
      clock.setWall(DAY + MINUTE);
    }
    expect(arrivals).toHaveLength(CAP);
  },
);

test.runIf(!ON_SQLITE)('a host whose clock is 25 h behind for 5 s moves no row of the ledger', async () => {
  const bench = benchOf();
  const { clock: time, start } = bench;
  const arrivals = arrivalsAt(bench);
  const path = await freshMirrorFile();
  const server = { serverTime: () => Promise.resolve(START + time.monotonic()) };
  const machine = new Machine(time);
  const { clock } = await sharedClock(server, machine.clock);
  const wrong = await start(path, { ...BUDGET, clock });
  const right = await start(path, {
    ...BUDGET,
    clock: (await sharedClock(server, new Machine(time).clock)).clock,
  });
  await times(CAP - 1, () => isGranted(right));
  const rows = () => right.database.query('SELECT id, sent_at FROM requests ORDER BY id');
  const before = await rows();
  await time.sleep(HOUR);
  machine.setWall(-25 * HOUR);
  expect(await isGranted(wrong)).toBe(true);
  await time.sleep(5 * SECOND);
  machine.setWall(0);
  expect(await isGranted(wrong)).toBe(false);
  expect(await isGranted(right)).toBe(false);
  expect((await rows()).slice(0, CAP - 1)).toEqual(before);
  expect(arrivals).toHaveLength(CAP);
});
