import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { describeList } from '../../core/lists.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { Page } from '../../service/client.ts';
import type { PagesByToken } from '../account/account.ts';
import { countRows, type SweepDeps, type SweepOptions, type Tally } from '../deps.ts';
import { EndGuard } from './endless.ts';
import { MOST_RESTARTS, Streak, StreakBroken } from './streak.ts';
import { reportUnknown } from './unknown.ts';

/**
 * Fetches and applies the list's pages, from the sweep's token to the last page. Adds to `tally`.
 * @throws MirrorError
 */
export async function walk(
  deps: SweepDeps,
  opened: Sweep,
  options: SweepOptions,
  tally: Tally,
): Promise<Sweep> {
  const { client, mirror, account, clock, onEvent, signal } = deps;
  const { reason } = options;
  const request = { reason, signal };
  let sweep = opened;
  // A resync reads a list to its end, whatever its length.
  const known = reason === 'resync' ? null : await mirror.sweeps.lastComplete(sweep);
  const streak = new Streak(known?.pages ?? null, await reachedPages(deps, opened, known));
  let guard = new EndGuard(known?.pages ?? null);
  let ahead = await readAhead(deps, sweep, options);
  const lacking: Record<string, number> = {};
  while (!sweep.walked) {
    let page: Page;
    try {
      const early = ahead.get(sweep.nextPage);
      const call = { ...request, streak: streak.next(sweep) };
      const send = (): Promise<Page> => client.listPage(sweep, sweep.nextPage, call);
      page = early ?? (await account.sendProven(client, request, send));
    } catch (error) {
      const isRefused = isMirrorError(error, 'TOKEN_REFUSED');
      const mayRestart = isRefused ? sweep.restarts < MOST_RESTARTS : error instanceof StreakBroken;
      if (!mayRestart) throw error;
      streak.restart(sweep);
      sweep = await mirror.sweeps.restart(sweep, isRefused ? undefined : clock.now());
      guard = new EndGuard(known?.pages ?? null);
      ahead = await readAhead(deps, sweep, options);
      if (isRefused) onEvent({ kind: 'restarted', key: sweep, cause: error.message });
      continue;
    }
    guard.check(sweep, page);
    const result = await mirror.applyPage(sweep, page, clock.now());
    sweep = result.sweep;
    const { inserted, changed } = result.applied;
    countRows(deps, sweep, tally, { inserted, changed, rejected: page.rejects.length });
    reportUnknown(deps, sweep, result.applied.unknown);
    refuseUnreadable(sweep, page);
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

/** How many pages the list has at least, by the rows that an interrupted walk has applied. 0: unknown. */
async function reachedPages(
  { mirror, client }: SweepDeps,
  sweep: Sweep,
  known: { readonly items: number; readonly pages: number } | null,
): Promise<number> {
  if (sweep.restarts < MOST_RESTARTS || known === null || known.items === 0) return 0;
  // The last page need not be full, and a service may give fewer rows than it was asked for.
  const aPage = Math.min(client.pageSize, known.pages > 1 ? known.items / (known.pages - 1) : Infinity);
  return Math.ceil((await mirror.suspects.countLive(sweep)) / aPage);
}

/**
 * The pages of `inboxes` that show whose they are, before any is applied; no page of another list. None where
 * a walk resumes: runs of few requests would read the first pages again each time, and never a later one.
 */
async function readAhead(
  { account, client, signal }: SweepDeps,
  { list, pages }: Sweep,
  { reason, acceptAccount }: SweepOptions,
): Promise<PagesByToken> {
  if (list !== 'inboxes' || pages > 0) return new Map();
  return await account.readInboxes(client, { reason, signal }, acceptAccount);
}

/**
 * A page with no readable row shows that the service's rows have changed: the list is not complete. One
 * unreadable row at the end of a list does not.
 * @throws MirrorError `BAD_ANSWER`
 */
function refuseUnreadable(sweep: Sweep, { items, rejects }: Page): void {
  const [first] = rejects;
  if (first === undefined || items.length > 0 || (rejects.length === 1 && sweep.items > 0)) return;
  throw new MirrorError(
    'BAD_ANSWER',
    `The list of ${describeList(sweep)} cannot be read: none of the ${rejects.length} rows of page ` +
      `${sweep.pages} is as expected (${first.reason}). Nothing is marked as deleted; ` +
      'the table `rejects` has these rows.',
  );
}
