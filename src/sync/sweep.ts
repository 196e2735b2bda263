import type { Clock } from '../core/clock.ts';
import { MirrorError, isMirrorError } from '../core/errors.ts';
import type { Reason } from '../core/ledger.ts';
import { type ListKey, describeList } from '../core/lists.ts';
import type { Client, Page } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import type { Suspect } from '../store/suspects.ts';
import type { Sweep } from '../store/sweeps.ts';
import { MOST_ASKED, askFor } from './ask.ts';
import type { ListReport, PassEvent } from './events.ts';

/** No list has ten million rows; one whose pages go on past that never ends. */
const MOST_PAGES = 100_000;
const MOST_RESTARTS = 2;

export interface SweepDeps {
  readonly client: Client;
  readonly store: Store;
  readonly clock: Clock;
  readonly onEvent: (event: PassEvent) => void;
  readonly signal: AbortSignal;
}

export interface SweepOptions {
  readonly reason: Reason;
  readonly acceptDeletes: boolean;
}

interface Tally {
  inserted: number;
  changed: number;
  deleted: number;
}

/**
 * Walks one list to its end, from where its open sweep stands: every page applied, then the suspects settled.
 * @throws whatever stopped it; the sweep is left `paused` with its token, or `failed` where going on would not help
 */
export async function sweepList(deps: SweepDeps, key: ListKey, options: SweepOptions): Promise<ListReport> {
  const { store, clock, onEvent } = deps;
  let sweep = await store.openSweep(key, options.reason, clock.now());
  const askedBefore = sweep.walked;
  const tally: Tally = { inserted: 0, changed: 0, deleted: 0 };
  onEvent({ kind: 'list-begun', key, resumedAtPage: sweep.pages });
  try {
    sweep = await walk(deps, sweep, options.reason, tally);
    await settleSuspects(deps, sweep, { ...options, askedBefore }, tally);
    await store.finishSweep(sweep, clock.now());
  } catch (error) {
    await leave(store, sweep, error, clock.now());
    throw error;
  }
  return {
    key,
    outcome: 'complete',
    items: sweep.items,
    ...tally,
    rejected: sweep.rejected,
    suspects: await store.countSuspects(key),
    error: null,
  };
}

async function walk(
  { client, store, clock, onEvent, signal }: SweepDeps,
  opened: Sweep,
  reason: Reason,
  tally: Tally,
): Promise<Sweep> {
  let sweep = opened;
  const lacking: Record<string, number> = {};
  for (let restarts = 0; !sweep.walked;) {
    let page: Page;
    try {
      page = await client.listPage(sweep, sweep.nextPage, { reason, signal });
    } catch (error) {
      if (!isMirrorError(error, 'TOKEN_REFUSED') || restarts === MOST_RESTARTS) throw error;
      restarts += 1;
      sweep = await store.restartSweep(sweep);
      onEvent({ kind: 'restarted', key: sweep, cause: error.message });
      continue;
    }
    refuseEndless(sweep, page);
    const result = await store.applyPage(sweep, page, clock.now());
    sweep = result.sweep;
    const { inserted, changed } = result.applied;
    tally.inserted += inserted;
    tally.changed += changed;
    onEvent({ kind: 'rows', key: sweep, rows: { inserted, changed, rejected: page.rejects.length } });
    for (const [field, rows] of Object.entries(page.lacking)) lacking[field] = (lacking[field] ?? 0) + rows;
    onEvent({
      kind: 'page',
      key: sweep,
      pages: sweep.pages,
      items: sweep.items,
      changed: tally.inserted + tally.changed,
      last: sweep.walked,
    });
  }
  for (const [field, rows] of Object.entries(lacking)) onEvent({ kind: 'lacking', key: sweep, field, rows });
  return sweep;
}

/** @throws MirrorError `ENDLESS_LIST` for a page that shows that the list would never end */
function refuseEndless(sweep: Sweep, { next, items, rejects }: Page): void {
  if (next === null) return;
  const problem = sweep.tokens.has(next)
    ? 'gave a page token that it had given before'
    : items.length + rejects.length === 0
      ? 'gave an empty page that says there are more'
      : sweep.pages + 1 >= MOST_PAGES
        ? `went on past ${MOST_PAGES} pages`
        : null;
  if (problem === null) return;
  throw new MirrorError(
    'ENDLESS_LIST',
    `The list of ${describeList(sweep)} ${problem} (at page ${sweep.pages + 1}), so its end cannot be found. What was read is kept and nothing is marked as deleted; the next pass begins anew.`,
  );
}

async function settleSuspects(
  deps: SweepDeps,
  sweep: Sweep,
  { reason, acceptDeletes, askedBefore }: SweepOptions & { askedBefore: boolean },
  tally: Tally,
): Promise<void> {
  const { store, clock, onEvent } = deps;
  const { suspects, deleted } = await store.closeWalk(sweep, { acceptDeletes, now: clock.now() });
  tally.deleted += deleted;
  onEvent({ kind: 'rows', key: sweep, rows: { tombstoned: deleted } });
  if (suspects.length === 0 || suspects.length > MOST_ASKED) return;
  onEvent({ kind: 'asking', key: sweep, suspects: suspects.length });
  try {
    for (const suspect of suspects)
      await settleOne(deps, sweep, suspect, { scheduled: reason === 'schedule', tally });
  } catch (error) {
    if (!isNoWitness(error, askedBefore)) throw error;
    onEvent({ kind: 'asking-ended', key: sweep, cause: error.message });
  }
}

/**
 * True where the service answers this kind of question in no usable way: the suspects then wait for the next complete sweep. An outage may
 * pass, so the sweep first pauses; but an item that breaks the service each time it is asked for must not keep its list from ever completing.
 */
function isNoWitness(error: unknown, askedBefore: boolean): error is MirrorError {
  return (
    isMirrorError(error, 'REQUEST_REFUSED', 'BAD_ANSWER') ||
    (askedBefore && isMirrorError(error, 'ANSWER_FAILED', 'SERVICE_DOWN'))
  );
}

async function settleOne(
  { client, store, clock, onEvent, signal }: SweepDeps,
  sweep: Sweep,
  suspect: Suspect,
  { scheduled, tally }: { scheduled: boolean; tally: Tally },
): Promise<void> {
  // A command's own asking goes before scheduled sweeps, but not before another person's command.
  const answer = await askFor(client, sweep, suspect, { reason: 'probe', scheduled, signal });
  if (answer === 'unknown') return;
  const changed = await store.settleSuspect(sweep, suspect, { found: answer, now: clock.now() });
  const tombstoned = answer === null ? 1 : 0;
  tally.changed += changed;
  tally.deleted += tombstoned;
  onEvent({ kind: 'rows', key: sweep, rows: { changed, tombstoned } });
}

/** What stops a whole program for a while leaves the sweep to go on; what is wrong with this list ends it. */
async function leave(store: Store, sweep: Sweep, error: unknown, now: number): Promise<void> {
  if (isMirrorError(error, 'LEASE_LOST')) return;
  const hopeless = isMirrorError(error, 'REQUEST_REFUSED', 'TOKEN_REFUSED', 'BAD_ANSWER', 'ENDLESS_LIST');
  const message = error instanceof Error ? error.message : String(error);
  await store.endSweep(sweep.id, hopeless ? 'failed' : 'paused', message, now).catch(() => undefined);
}
