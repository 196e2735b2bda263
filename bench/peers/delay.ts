import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE } from '../../src/core/clock.ts';
import type { Lane, Run, Running } from './lane.ts';
import type { Lanes } from './lanes.ts';
import { type Observed, Observer } from './observer.ts';

/** A reader looks into every copy this often, in milliseconds. */
const LOOK_MS = 500;

export interface DelayPlan {
  /** Minutes between two runs of a peer that cron starts. */
  readonly everyMinutes: number;
  /** Periods with changes; the runs after the last of them end the trial. */
  readonly periods: number;
  readonly changesPerMinute: number;
}

export interface Delay extends Observed {
  readonly requests: number;
  readonly refused: number;
  readonly cpuSeconds: number;
  readonly peakRssMb: number;
  readonly failure: string | null;
}

/**
 * Changes conversations at an even rate while every peer keeps its copy fresh: those that stay by themselves,
 * the others started by a cron-like grid. The lanes' copies must be full.
 */
export async function measureDelays(
  all: readonly Lane[],
  lanes: Lanes,
  { everyMinutes, periods, changesPerMinute }: DelayPlan,
  report: (line: string) => void,
): Promise<Delay[]> {
  const warm = await warmUp(all);
  // Cron starts at whole minutes, and node-cron needs a few seconds before.
  const begin = Math.ceil((Date.now() + START_MS) / MINUTE) * MINUTE;
  const minute = new Date(begin).getUTCMinutes() % everyMinutes;
  const resident = all.map((lane) => warm.get(lane) ?? lane.stay(`${minute}-59/${everyMinutes} * * * *`));
  await sleep(begin - MARGIN_MS - Date.now());
  const before = await Promise.all(all.map(async (lane) => await lane.counts()));
  const observer = new Observer(await lanes.rows(all[0]!.name));
  await sleep(begin - Date.now());
  report(`changes for ${everyMinutes * periods} min, a run every ${everyMinutes} min`);
  const watch = new AbortController();
  const watching = watchCopies(all, observer, watch.signal);
  const people = changeRows(all, lanes, observer, {
    begin,
    changesPerMinute,
    minutes: everyMinutes * periods,
  });
  const runs = await Promise.all(
    all.map(
      async (lane, nth) => await runOnGrid(lane, resident[nth] ?? null, { begin, everyMinutes, periods }),
    ),
  );
  await people;
  watch.abort();
  await watching;
  await checkEqual(all, lanes);
  return await Promise.all(
    all.map(async (lane, nth) => {
      const { requests, refused } = await lane.counts();
      return {
        ...observer.resultOf(lane.name),
        requests: requests - before[nth]!.requests,
        refused: refused - before[nth]!.refused,
        cpuSeconds: runs[nth]!.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
        peakRssMb: Math.max(...runs[nth]!.map(({ peakRssMb }) => peakRssMb)),
        failure: runs[nth]!.find(({ failure }) => failure !== null)?.failure ?? null,
      };
    }),
  );
}

/** Starts the processes that run some minutes before the changes, and waits for that time. */
async function warmUp(all: readonly Lane[]): Promise<Map<Lane, Running>> {
  const started = new Map<Lane, Running>();
  const early = all.filter(({ peer }) => peer.warmUpMinutes > 0);
  for (const lane of early) {
    const running = lane.stay('');
    if (running !== null) started.set(lane, running);
  }
  await sleep(Math.max(0, ...early.map(({ peer }) => peer.warmUpMinutes)) * MINUTE);
  return started;
}

async function watchCopies(all: readonly Lane[], observer: Observer, signal: AbortSignal): Promise<void> {
  const look = (): void => {
    for (const lane of all) observer.look(lane.name, lane.read().rows, Date.now());
  };
  while (!signal.aborted) {
    look();
    await sleep(LOOK_MS);
  }
  look();
}

async function changeRows(
  all: readonly Lane[],
  lanes: Lanes,
  observer: Observer,
  { begin, changesPerMinute, minutes }: { begin: number; changesPerMinute: number; minutes: number },
): Promise<void> {
  const gap = MINUTE / changesPerMinute;
  for (let nth = 0; nth < changesPerMinute * minutes; nth += 1) {
    await sleep(Math.max(0, begin + (nth + 0.5) * gap - Date.now()));
    const changed = await lanes.change(all.map(({ name }) => name));
    for (const [key, text] of Object.entries(changed)) observer.changed(key, { at: Date.now(), text });
  }
}

/** Runs the peer at each whole period, the last of them included. A peer that stays does so by itself. */
async function runOnGrid(
  lane: Lane,
  resident: Running | null,
  { begin, everyMinutes, periods }: { begin: number; everyMinutes: number; periods: number },
): Promise<Run[]> {
  const runs: Run[] = [];
  for (let nth = 0; nth <= periods; nth += 1) {
    await sleep(Math.max(0, begin + nth * everyMinutes * MINUTE - Date.now()));
    if (resident === null) runs.push(await lane.once().ended);
  }
  if (resident === null) return runs;
  // The last run that the process begins needs time, as the others' runs do.
  await sleep(LAST_RUN_MS);
  resident.stop('SIGTERM');
  return [await resident.ended];
}

/** A process that stays has this long until its first run. */
const START_MS = 10_000;

/** Requests count from this long before the first runs. */
const MARGIN_MS = 1000;

/** The processes that stay are stopped this long after the last period. */
const LAST_RUN_MS = 1.5 * MINUTE;

/** Fails if the lanes did not show the same account: their delays could not be compared. */
async function checkEqual(all: readonly Lane[], lanes: Lanes): Promise<void> {
  const texts = await Promise.all(all.map(async ({ name }) => JSON.stringify(await lanes.rows(name))));
  if (new Set(texts).size > 1) throw new Error('the sandboxes of the lanes have come to differ');
}
