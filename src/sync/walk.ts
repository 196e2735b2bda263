import { isMirrorError, MirrorError } from '../core/errors.ts';
import type { Reason } from '../core/ledger.ts';
import { describeList } from '../core/lists.ts';
import type { Sweep } from '../mirror/sweeps/sweeps.ts';
import type { Page } from '../service/client.ts';
import type { SweepDeps, Tally } from './deps.ts';

/** No list has ten million rows; one whose pages go on past that never ends. */
const MOST_PAGES = 100_000;
const MOST_RESTARTS = 2;

export async function walk(
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
