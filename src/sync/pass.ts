import type Bottleneck from 'bottleneck';
import { isMirrorError, MirrorError } from '../core/errors.ts';
import { INBOXES, keysOf, listId, type ListKey } from '../core/lists.ts';
import type { Inbox } from '../mirror/items/inboxes.ts';
import { coversInbox, inboxNotInService } from '../mirror/mirror.ts';
import type { Pass, PassSpec } from '../mirror/passes/passes.ts';
import { bottleneckOn } from '../service/gate/limiter.ts';
import { perhapsOtherAccount } from './account/marks.ts';
import { judgeByInbox } from './account/single.ts';
import type { PassDeps } from './deps.ts';
import { type ListReport, NO_FIGURES } from './events.ts';
import { KindFailures } from './kind-failures.ts';
import { PastSweeps } from './past.ts';
import { PLACES } from './planning/planner.ts';
import { asRecord } from './record.ts';
import { findStuck, isAlreadyDone, isOutdated, isReadAgain, isUnfinished, reasonOf } from './resuming.ts';
import { reachIn, sweepList } from './sweep.ts';

/** How a pass ended. `stopped` is the error that ended it early, null if it ran to its end. */
export interface PassReport {
  readonly pass: Pass;
  readonly lists: readonly ListReport[];
  readonly stopped: unknown;
  /** True if the next pass of its kind resumes it. A pass that a daemon carried out does not say. */
  readonly isOpen?: boolean;
}

/**
 * Sweeps the lists of the spec: inboxes first, then every other list of every live inbox, several at a time.
 * Errors of the service do not throw: the report has them, list by list.
 * @param places at most this many lists at a time
 * @throws MirrorError `USAGE` for an inbox that the service does not have
 */
export async function runPass(deps: PassDeps, spec: PassSpec, places = PLACES): Promise<PassReport> {
  const { mirror, clock, onEvent } = deps;
  // Stored instants must move with a set clock before this pass writes its own.
  await mirror.ledger.followClock(await clock.ledgerTime());
  const pass = await mirror.passes.begin(spec, clock.now(), deps.account.accessId());
  const past = new PastSweeps(await mirror.sweeps.latest(), await mirror.failing(clock.now()));
  const end = async (error: string | null, report: unknown): Promise<void> => {
    const state = error === null ? 'done' : 'failed';
    await mirror.passes.end(pass.id, { state, error, report }, clock.now());
  };
  const stuckAt = await findStuck(deps, spec, pass, past);
  if (stuckAt !== null) {
    await end(notComplete(stuckAt), asRecord({ lists: [], stopped: null }));
    return await runPass(deps, spec, places);
  }
  onEvent({ kind: 'pass-begun', resumedFrom: pass.resumed ? pass.startedAt : null });
  const run = new PassRun(deps, { spec, pass, past, places });
  try {
    await run.sweepAll();
  } catch (error) {
    // A usage error ends the pass. After any other error it stays open, and the next pass resumes it.
    if (isMirrorError(error, 'USAGE')) await end(error.message, asRecord({ lists: [], stopped: error }));
    throw error;
  }
  const isOpen = run.stopped !== null || isUnfinished(spec, run);
  const report = { pass, lists: run.reports, stopped: run.stopped, isOpen };
  if (!isOpen) {
    const failed = report.lists.filter(isMissing);
    await end(failed.length === 0 ? null : notComplete(failed.map(({ key }) => key)), asRecord(report));
    const hasNothingLeft = run.reports.every(({ outcome }) => outcome === 'already' || outcome === 'skipped');
    if (await isOutdated(deps, spec, pass, { past, hasNothingLeft })) {
      const next = await runPass(deps, spec, places);
      // This pass is complete, whatever stops the next one, unless a person must act.
      if (next.stopped === null || isMirrorError(next.stopped, 'KEY_REFUSED', 'OTHER_ACCOUNT')) return next;
    }
  } else if (!isMirrorError(report.stopped, 'LEASE_LOST')) {
    // Ignore a failure of this write: the error that stopped the pass is reported.
    await mirror.passes.touch(pass.id, clock.now()).catch(() => undefined);
  }
  return report;
}

function isMissing({ outcome }: ListReport): boolean {
  return outcome === 'failed' || outcome === 'paused';
}

/** The report of a list of which several sweeps were carried on, one after the other. */
function sumOf(reports: readonly ListReport[]): ListReport {
  return reports.reduce((first, second) => ({
    ...second,
    inserted: first.inserted + second.inserted,
    changed: first.changed + second.changed,
    deleted: first.deleted + second.deleted,
  }));
}

function notComplete(keys: readonly ListKey[]): string {
  return `not complete: ${keys.map(listId).join(', ')}`;
}

interface PassParts {
  readonly spec: PassSpec;
  readonly pass: Pass;
  readonly past: PastSweeps;
  readonly places: number;
}

/** A pass in progress. */
class PassRun {
  readonly reports: ListReport[] = [];
  /** The error that stopped the run; null if it reached its end. */
  stopped: unknown = null;
  /** True if the run has read a page. */
  hasRead = false;
  readonly #deps: PassDeps;
  readonly #spec: PassSpec;
  readonly #pass: Pass;
  readonly #lanes: Bottleneck;
  readonly #halt = new AbortController();
  readonly #past: PastSweeps;
  readonly #kindFailures: KindFailures;
  /** Looks at the gate before the first request; rejects if it is shut. */
  #gate: Promise<void> | null = null;

  constructor(deps: PassDeps, { spec, pass, past, places }: PassParts) {
    this.#deps = {
      ...deps,
      signal: AbortSignal.any([deps.signal, this.#halt.signal]),
      onEvent: (event) => {
        if (event.kind === 'page') {
          this.hasRead = true;
          this.#kindFailures.noteRead(event.key.list);
        }
        deps.onEvent(event);
      },
    };
    this.#spec = spec;
    this.#pass = pass;
    this.#past = past;
    this.#kindFailures = new KindFailures((list) => past.failuresAllowed(list, deps.clock.now()));
    const Limiter = bottleneckOn(deps.clock);
    this.#lanes = new Limiter({ maxConcurrent: places });
  }

  /**
   * Sweeps `inboxes` if the spec names it or accepts another account, or if the mirror lacks the inbox; then
   * the other lists.
   */
  async sweepAll(): Promise<void> {
    const { mirror } = this.#deps;
    const { lists, inboxId, acceptAccount } = this.#spec;
    let inboxes = await mirror.inboxes();
    const unknown = inboxId === null ? inboxes.length === 0 : !inboxes.some(({ id }) => id === inboxId);
    const isWanted = lists.includes('inboxes') || unknown || acceptAccount;
    if (isWanted) await this.#deps.beforeInboxes?.();
    const isLast = isWanted && !unknown && !acceptAccount && (await this.#canInboxesWait());
    if (isWanted && !isLast) {
      await this.#sweep(INBOXES);
      inboxes = await mirror.inboxes();
      const isUnproven = this.stopped === null && this.reports.some(isMissing);
      if (isUnproven && (await this.#accountShown()) === 'other') this.stopped = perhapsOtherAccount();
    }
    if (this.stopped !== null) return;
    const selected = inboxes.filter(({ id }) => coversInbox(this.#spec, id));
    if (inboxId !== null && selected.length === 0) {
      // The list of inboxes could not be read: the inbox may exist. The report has the list's error.
      if (this.reports.some(isMissing)) return;
      throw inboxNotInService(inboxId, inboxes);
    }
    const kinds = lists.filter((list) => list !== 'inboxes');
    await this.#sweepLists([...keysOf(kinds, selected), ...(isLast ? [INBOXES] : [])], selected);
  }

  /**
   * True if earlier runs have ended at the list of inboxes: those of the known ones are then read before it.
   * It shows whose they are, though, so that an inbox must show it instead.
   */
  async #canInboxesWait(): Promise<boolean> {
    const endsRuns = this.#past.endsRuns(INBOXES) && this.#past.areUnanswered([INBOXES]);
    return endsRuns && (await this.#accountShown()) === 'ours';
  }

  async #sweepLists(keys: readonly ListKey[], inboxes: readonly Inbox[]): Promise<void> {
    const { promising, doubtful } = this.#past.split(keys);
    for (const key of keys) {
      const last = await this.#deps.mirror.sweeps.lastComplete(key);
      this.#deps.onEvent({ kind: 'list-known', key, expectedItems: last?.items ?? null });
    }
    const suspects = new Set(inboxes.filter(({ suspect }) => suspect).map(({ id }) => id));
    const isSuspect = ({ inboxId }: ListKey): boolean => inboxId !== null && suspects.has(inboxId);
    for (const key of keys.filter(isSuspect)) this.#report({ key, outcome: 'skipped', ...NO_FIGURES });
    await this.#sweepEach(promising.filter((key) => !isSuspect(key)));
    for (const group of doubtful) await this.#sweepDoubtful(group.filter((key) => !isSuspect(key)));
  }

  /** Sweeps lists of a kind one by one, until one of them has shown that the kind can be read again. */
  async #sweepDoubtful(keys: readonly ListKey[]): Promise<void> {
    const [first] = keys;
    if (first === undefined) return;
    if (!this.#past.hasFailed(first)) this.#kindFailures.trust(first.list, this.#past.isReadable(keys));
    else this.#kindFailures.doubt(first.list);
    for (const [at, key] of keys.entries()) {
      await this.#sweepEach([key]);
      if (this.#kindFailures.wasRead(key.list)) return await this.#sweepEach(keys.slice(at + 1));
    }
  }

  async #sweepEach(keys: readonly ListKey[]): Promise<void> {
    await Promise.all(
      keys.map((key) =>
        this.#lanes.schedule(async () => {
          if (this.stopped === null) await this.#sweep(key);
          else await this.#countDone(key);
        }),
      ),
    );
  }

  /** Sweeps a list, unless it is complete already or a request for it would be of no use now. */
  async #sweep(key: ListKey): Promise<void> {
    try {
      if (await this.#isAlreadyDone(key)) {
        this.#kindFailures.noteRead(key.list);
        this.#report({ key, outcome: 'already', ...NO_FIGURES });
        return;
      }
      this.#past.throwIfWaiting(key, this.#deps.clock.now());
      if (!this.#isWhole()) await this.#past.throwIfResting(key, this.#deps);
      this.#kindFailures.throwIfGivenUp(key.list);
      // A run at a shut gate leaves the sweeps as they are, with the reasons why they stopped.
      await (this.#gate ??= this.#deps.client.throwIfShut());
      await this.#read(key);
    } catch (error) {
      this.#fail(key, error);
    }
  }

  async #read(key: ListKey): Promise<void> {
    const { mirror, clock } = this.#deps;
    const [spec, pass, past] = [this.#spec, this.#pass, this.#past];
    try {
      const reports = this.#isWhole() ? await this.#endEarlier(key) : [];
      reports.push(await this.#sweepOnce(key, spec.acceptDeletes ? pass.id : null));
      if (await isReadAgain(this.#deps, spec, pass, { past, key }))
        reports.push(await this.#sweepOnce(key, null));
      if (spec.acceptAccount && key.list === 'inboxes') await mirror.passes.useConsent(pass.id);
      this.#report(sumOf(reports));
      await mirror.passes.touch(pass.id, clock.now());
    } catch (error) {
      if (isMirrorError(error, 'ANSWER_FAILED')) this.#kindFailures.noteFailure(key.list);
      throw error;
    }
  }

  /**
   * Ends a sweep that an earlier pass has left. If only its questions are left, they are asked: in the next
   * sweep each would be asked for the first time again, and one that always fails would keep it incomplete.
   * @returns what that changed; empty if the sweep was abandoned, or if there was none
   */
  async #endEarlier(key: ListKey): Promise<ListReport[]> {
    const { mirror, clock } = this.#deps;
    if (!this.#spec.acceptAccount && (await mirror.sweeps.isWalked(key, this.#pass.id)))
      return [await this.#sweepOnce(key, null)];
    await mirror.sweeps.abandon(key, this.#pass.id, clock.now());
    return [];
  }

  async #sweepOnce(key: ListKey, acceptedBy: number | null): Promise<ListReport> {
    const { acceptAccount } = this.#spec;
    return await sweepList(this.#deps, key, { reason: reasonOf(this.#spec), acceptedBy, acceptAccount });
  }

  #fail(key: ListKey, error: unknown): void {
    const reach = reachIn(error, this.#deps.signal);
    // Keep the first error only: the other lists fail because this one stops the pass.
    if (reach === 'pass' && this.stopped === null) {
      this.stopped = error;
      this.#halt.abort(new MirrorError('STOPPED', 'the pass was stopped'));
    }
    this.#report({ key, outcome: reach === 'list' ? 'failed' : 'paused', ...NO_FIGURES, error });
  }

  /** True if the pass reads each list from its first page. */
  #isWhole(): boolean {
    return this.#spec.kind === 'resync' || this.#spec.acceptAccount;
  }

  #accountShown(): ReturnType<typeof judgeByInbox> {
    const { account, client, signal } = this.#deps;
    return judgeByInbox({ account, client }, { reason: reasonOf(this.#spec), signal });
  }

  #isAlreadyDone(key: ListKey): Promise<boolean> {
    return isAlreadyDone(this.#deps.mirror, this.#spec, this.#pass, key);
  }

  /** A pass that stops again still reports the lists that it had completed before. */
  async #countDone(key: ListKey): Promise<void> {
    const isDone = await this.#isAlreadyDone(key).catch(() => false);
    if (isDone) this.#report({ key, outcome: 'already', ...NO_FIGURES });
  }

  #report(report: ListReport): void {
    this.reports.push(report);
    this.#deps.onEvent({ kind: 'list-done', report });
  }
}
