import { setTimeout as sleep } from 'node:timers/promises';
import type { Lane, Run } from './lane.ts';
import type { Lanes, Rows } from './lanes.ts';
import type { Peer } from './peer.ts';

/** Opens a lane of its own for a trial. */
export type OpenLane = (trial: {
  name: string;
  peer: Peer;
  env?: Readonly<Record<string, string>>;
}) => Promise<Lane>;

/** A first run into an empty copy. */
export interface First {
  readonly run: Run;
  readonly requests: number;
  readonly refused: number;
  readonly rows: number;
  /** Rows of the service that the copy lacks or shows otherwise. */
  readonly wrong: number;
}

export async function tryFirst(lane: Lane, lanes: Lanes): Promise<First> {
  const run = await lane.once().ended;
  const { requests, refused } = await lane.counts();
  const { rows } = lane.read();
  const wrong = differences(await lanes.rows(lane.name), rows);
  return { run, requests, refused, rows: Object.keys(rows).length, wrong };
}

/** A first run that is killed in the middle, and the run after it. */
export interface Killed {
  /** Answered requests at the kill, and requests of the second run. */
  readonly answeredBefore: number;
  readonly requestsAfter: number;
  readonly lost: number;
  readonly doubled: number;
  readonly failure: string | null;
}

export async function tryKill(peer: Peer, open: OpenLane, lanes: Lanes, pages: number): Promise<Killed> {
  const lane = await open({ name: `${peer.name}, killed`, peer });
  const first = lane.once();
  while (!first.isOver() && (await lane.counts()).answered < pages) await sleep(50);
  first.stop('SIGKILL');
  await first.ended;
  const before = await lane.counts();
  const { failure } = await lane.once().ended;
  const after = await lane.counts();
  const { rows, doubled } = lane.read();
  const truth = Object.keys(await lanes.rows(lane.name));
  return {
    answeredBefore: before.answered,
    requestsAfter: after.requests - before.requests,
    lost: truth.filter((key) => rows[key] === undefined).length,
    doubled,
    failure,
  };
}

/** A run that meets an empty page in the middle of a list, and a good run after it. */
export interface Truncated {
  readonly name: string;
  /** Rows that the service still has and the copy lost, after each of the two runs. */
  readonly wrong: number;
  readonly wrongLater: number;
  /** Of the removed rows, those that the copy does not show as present any more after the second run. */
  readonly noticed: number;
  readonly removed: number;
  readonly failure: string | null;
}

const REMOVED = 5;

export async function tryTruncated(
  { peer, name, env }: { peer: Peer; name: string; env?: Readonly<Record<string, string>> },
  open: OpenLane,
  lanes: Lanes,
): Promise<Truncated> {
  const lane = await open({ name: `${name}, truncated`, peer, ...(env === undefined ? {} : { env }) });
  const failures = [(await lane.once().ended).failure];
  const full = Object.keys(await lanes.rows(lane.name));
  await lanes.remove(lane.name, REMOVED);
  const truth = Object.keys(await lanes.rows(lane.name));
  const lostNow = (): number => {
    const { rows } = lane.read();
    return truth.filter((key) => rows[key] === undefined).length;
  };
  await lanes.truncate(lane.name);
  failures.push((await lane.once().ended).failure);
  const wrong = lostNow();
  failures.push((await lane.once().ended).failure);
  const present = new Set(truth);
  const { rows } = lane.read();
  const noticed = full.filter((key) => !present.has(key) && rows[key] === undefined).length;
  const failure = failures.find((one) => one !== null) ?? null;
  return { name, wrong, wrongLater: lostNow(), noticed, removed: REMOVED, failure };
}

function differences(truth: Rows, copy: Rows): number {
  return Object.entries(truth).filter(([key, text]) => copy[key] !== text).length;
}
