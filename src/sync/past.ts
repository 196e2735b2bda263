import { HOUR, MINUTE } from '../core/clock.ts';
import { type ErrorCode, MirrorError } from '../core/errors.ts';
import { duration, plural } from '../core/humanize.ts';
import { listId, type ListKey, type ListName, resyncCommand } from '../core/lists.ts';
import { LONGEST_HINT_MS } from '../core/retry-timing.ts';
import type { Failing } from '../mirror/gate/answers/failing.ts';
import { newestSweep } from '../mirror/mirror.ts';
import type { LatestSweep } from '../mirror/sweeps/reader.ts';
import type { PassDeps } from './deps.ts';
import { sweepableLists } from './planning/agenda.ts';
import { failedCosts, type FailedCosts, restByCost } from './planning/due.ts';
import { GOLDEN_RATIO } from './witnesses/sample.ts';

/** These errors pause the sweep that met them, and those beside it that had to wait at the gate. */
const STOPPING = new Set<ErrorCode | null>(['SERVICE_DOWN', 'GATE_PAUSED']);

/** A list at which the process was ended, after at least this many requests without an answer, ends runs. */
const LEAST_UNANSWERED = 2;

/** Two requests at least this many ms apart belong to two runs. */
const APART_MS = 5 * MINUTE;

/** At most this many lists of a kind may fail in a pass, however long ago the kind was tried. */
const MOST_ALLOWED = 24;

/** After a failed walk of at most this many requests a list does not rest. */
const CHEAP = 10;

/** Ranks of doubtful lists, in the order of reading. The later a rank, the likelier its lists end the run. */
const RANKS = [
  'not failed, but others of its kind',
  'not failed, but one of its kind ended a run',
  'failed',
  'not failed, but one of its kind ended a run, and none is answered',
  'ended a run',
] as const;

/** The newest sweeps and requests of each list, as they were before a pass (docs/decisions/0004). */
export class PastSweeps {
  readonly #latest: ReadonlyMap<string, readonly LatestSweep[]>;
  readonly #failing: Failing;
  #costs: Promise<FailedCosts> | null = null;

  /** @param latest newest first, by `listId` */
  constructor(latest: ReadonlyMap<string, readonly LatestSweep[]>, failing: Failing) {
    this.#latest = latest;
    this.#failing = failing;
  }

  /**
   * Splits lists by what to expect. `doubtful`: the list, or another one of its kind, failed last time. These
   * come in groups of one rank and kind. Of those that failed, the one tried longest ago comes first. Lists
   * that ended a run come last, but before these if the last run did not reach them: `timeout` can end each
   * run at a list that fails.
   */
  split(keys: readonly ListKey[]): { promising: ListKey[]; doubtful: ListKey[][] } {
    const failed = keys
      .filter((key) => this.hasFailed(key))
      .toSorted((a, b) => this.#triedAt(a) - this.#triedAt(b));
    const ofSeveral = failed.filter((key) => !this.#isCutOff(key) && !this.#isBroken(key));
    const kinds = new Set(ofSeveral.map(({ list }) => list));
    const stopping = new Set(failed.filter((key) => this.#stoppedThePass(key)).map(({ list }) => list));
    const enders = new Set(failed.filter((key) => this.endsRuns(key)));
    const othersAt = Math.max(...failed.filter((key) => !enders.has(key)).map((key) => this.#triedAt(key)));
    const areUnreached = [...enders].every((key) => this.#triedAt(key) < othersAt);
    const rankOf = (key: ListKey): (typeof RANKS)[number] => {
      if (enders.has(key) && !areUnreached) return 'ended a run';
      if (this.hasFailed(key)) return 'failed';
      if (!stopping.has(key.list)) return 'not failed, but others of its kind';
      return this.#failing.kinds.get(key.list)?.alone === true
        ? 'not failed, but one of its kind ended a run, and none is answered'
        : 'not failed, but one of its kind ended a run';
    };
    const kin = apart(keys.filter((key) => kinds.has(key.list) && !this.hasFailed(key)));
    const ranked = Map.groupBy([...kin, ...failed], rankOf);
    const groups = RANKS.flatMap((rank) => [
      ...Map.groupBy(ranked.get(rank) ?? [], ({ list }) => list).values(),
    ]);
    const ids = new Set([...kin, ...failed].map(listId));
    return { promising: keys.filter((key) => !ids.has(listId(key))), doubtful: groups };
  }

  /** True if the list failed last time, or if the last run ended at it. */
  hasFailed(key: ListKey): boolean {
    return this.#pausedAlone(key) || this.endsRuns(key) || this.#isBroken(key);
  }

  /** True if an open walk of the list began `ms` before `now` (epoch ms), or earlier, and has read pages. */
  hasOldPages(key: ListKey, ms: number, now: number): boolean {
    const last = this.#newest(key);
    const isOpen = last?.state === 'running' || last?.state === 'paused';
    return isOpen && last.pages > 0 && now - last.startedAt.getTime() >= ms;
  }

  /**
   * How many lists of a kind may fail in this pass: one for each hour since a list of the kind was last
   * tried. A run each hour must not spend the day on a kind that fails, and a run each day must not leave the
   * healthy ones unread for weeks.
   */
  failuresAllowed(list: ListName, now: number): number {
    const triedAt = Math.max(0, ...this.#newestOf(list).map(({ heartbeatAt }) => heartbeatAt.getTime()));
    return Math.min(Math.max(1, Math.floor((now - triedAt) / HOUR)), MOST_ALLOWED);
  }

  /** True if one of these lists, which are of one kind, was complete since the last of their kind failed. */
  isReadable(keys: readonly ListKey[]): boolean {
    const kin = keys.slice(0, 1).flatMap(({ list }) => this.#newestOf(list));
    const failed = kin.filter((last) => this.hasFailed(last));
    const failedSince = Math.max(0, ...failed.map(({ startedAt }) => startedAt.getTime()));
    return keys.some((key) => {
      const last = this.#newest(key);
      return last?.state === 'complete' && (last.finishedAt?.getTime() ?? 0) > failedSince;
    });
  }

  /** True if the last run ended at the list, by an error of its own or from outside (`#isCutOff`). */
  endsRuns(key: ListKey): boolean {
    return this.#stoppedThePass(key) || this.#isCutOff(key);
  }

  /**
   * True if the last request for each of the lists, or for any of its kind, was not answered, and if some of
   * these requests were sent minutes apart: one run would prove nothing.
   */
  areUnanswered(keys: readonly ListKey[]): boolean {
    const { lists, kinds } = this.#failing;
    const failing = keys.map((key) => lists.get(listId(key)) ?? kinds.get(key.list));
    return failing.every((one) => one !== undefined) && failing.some(({ spanMs }) => spanMs >= APART_MS);
  }

  /**
   * True if the list was not answered, or none of its kind, while the service answered other requests; also
   * if it was refused, or if its last walk could not be resumed.
   */
  failsAlone(key: ListKey): boolean {
    const { lists, kinds } = this.#failing;
    if (this.#isBroken(key) || this.#pausedAlone(key) || this.#isRefused(key)) return true;
    return lists.get(listId(key))?.alone === true || kinds.get(key.list)?.alone === true;
  }

  /**
   * @param now epoch ms
   * @throws MirrorError `ANSWER_FAILED` while the service asks to wait with this list
   */
  throwIfWaiting(key: ListKey, now: number): void {
    const until = this.#newest(key)?.retryAt?.getTime() ?? 0;
    const wait = until - now;
    // A longer wait is never stored: a clock was wrong.
    if (wait <= 0 || wait > LONGEST_HINT_MS) return;
    const resumeAt = new Date(until);
    throw new MirrorError(
      'ANSWER_FAILED',
      `The service asks to wait until ${resumeAt.toISOString()} (for ${duration(wait)}) with this list, so ` +
        'nothing was sent. `inbox-mirror doctor --reset-gate` ends the wait by hand.',
      { resumeAt },
    );
  }

  /**
   * Lets a list rest after a walk that failed and was not cheap: a sync by cron would read it from its first
   * page each time, and spend the day on it.
   * @throws MirrorError the code of that walk's error
   */
  async throwIfResting(key: ListKey, { mirror, clock, budget }: PassDeps): Promise<void> {
    if (budget === undefined || budget.isUsedUp === true || !this.#isBroken(key)) return;
    const failed = await mirror.sweeps.failedSweeps(key, this.#latest.get(listId(key)) ?? []);
    if (failed === null || failed.lastCode === null || failed.lastCost <= CHEAP) return;
    this.#costs ??= this.#readCosts(mirror);
    const costs = await this.#costs;
    const resumeAt = new Date(failed.lastAt.getTime() + restByCost(failed, { budget, costs }));
    const wait = resumeAt.getTime() - clock.now();
    if (wait <= 0) return;
    throw new MirrorError(
      failed.lastCode,
      `Its last walk failed after ${plural(failed.lastCost, 'request')}, so it rests until ` +
        `${resumeAt.toISOString()} (for ${duration(wait)}), and nothing was sent. ` +
        `\`${resyncCommand(key)}\` reads it now.`,
      { resumeAt },
    );
  }

  async #readCosts(mirror: PassDeps['mirror']): Promise<FailedCosts> {
    const broken = (await sweepableLists(mirror)).filter((key) => this.#isBroken(key));
    const failed = broken.map((key) => mirror.sweeps.failedSweeps(key, this.#latest.get(listId(key)) ?? []));
    return failedCosts(await Promise.all(failed));
  }

  /** True if its last walk is paused because a request failed while the service answered others. */
  #pausedAlone(key: ListKey): boolean {
    const last = this.#newest(key);
    return last?.state === 'paused' && last.errorCode === 'ANSWER_FAILED';
  }

  /** True if its last walk could not be resumed. That says nothing of the other lists of its kind. */
  #isBroken(key: ListKey): boolean {
    return this.#newest(key)?.state === 'failed';
  }

  #stoppedThePass(key: ListKey): boolean {
    return this.#wasStopped(key) && (this.#unanswered(key) > 0 || this.#isRefused(key));
  }

  /** True if its last walk was paused because the service was down, or the gate paused. */
  #wasStopped(key: ListKey): boolean {
    const last = this.#newest(key);
    return last?.state === 'paused' && STOPPING.has(last.errorCode);
  }

  /** True if its last walk was paused after a 403, because the test of the key drew a 429 or no answer. */
  #isRefused(key: ListKey): boolean {
    return this.#wasStopped(key) && this.#failing.refused.has(listId(key));
  }

  /** True if the process was ended after two requests for the list, or more, had no answer. */
  #isCutOff(key: ListKey): boolean {
    const last = this.#newest(key);
    const isOpen = last?.state === 'running' || (last?.state === 'paused' && last.errorCode === 'STOPPED');
    return isOpen && this.#unanswered(key) >= LEAST_UNANSWERED;
  }

  #unanswered(key: ListKey): number {
    return this.#failing.lists.get(listId(key))?.requests ?? 0;
  }

  #triedAt(key: ListKey): number {
    return this.#newest(key)?.heartbeatAt.getTime() ?? 0;
  }

  /** The newest sweep of each list of a kind. */
  #newestOf(list: ListName): LatestSweep[] {
    const newest = [...this.#latest.values()].flatMap((sweeps) => newestSweep(sweeps) ?? []);
    return newest.filter((last) => last.list === list);
  }

  #newest(key: ListKey): LatestSweep | undefined {
    return newestSweep(this.#latest.get(listId(key)) ?? []);
  }
}

/** Orders lists so that any few of them in a row are spread over all: often the first ones fail together. */
function apart(keys: readonly ListKey[]): ListKey[] {
  const places = keys.map((key, nth) => ({ key, at: (nth * GOLDEN_RATIO) % 1 }));
  return places.toSorted((a, b) => b.at - a.at).map(({ key }) => key);
}
