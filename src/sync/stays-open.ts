import { HOUR } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import { listId, type ListKey } from '../core/lists.ts';
import type { Pass, PassSpec } from '../mirror/passes/passes.ts';
import type { ListReport } from './events.ts';

/** A run of a pass: what it read, and what stopped it. */
export interface Run {
  readonly reports: readonly ListReport[];
  /** The error that stopped the run; null if it reached its end. */
  readonly stopped: unknown;
  /** True if the run has read a page. */
  readonly hasRead: boolean;
  /** The lists of the kinds that did not fail before this run; null if it stopped before these were known. */
  readonly promising: readonly ListKey[] | null;
}

interface BegunPass {
  readonly spec: PassSpec;
  readonly pass: Pick<Pass, 'startedAt'>;
}

/**
 * True if the next pass of the same kind and scope resumes this one.
 * @param now epoch ms
 */
export function staysOpen(begun: BegunPass, run: Run, now: number): boolean {
  return run.stopped === null ? isUnfinished(begun, run) : !isHopeless(begun, run, now);
}

/**
 * True for a person's resync of which single lists failed: a new one would read every list from its first
 * page again. False if the run read no page: else the pass would stay open for as long as a list is broken.
 * False for a daemon's pass too, because the daemon reads these lists again itself.
 */
function isUnfinished({ spec: { kind, orderId } }: BegunPass, { reports, hasRead }: Run): boolean {
  if (kind !== 'resync' || orderId !== undefined || !hasRead) return false;
  return reports.some(({ outcome }) => outcome === 'paused');
}

/**
 * True if a sync began over an hour ago, this run read no page, and every list that is left is of a kind that
 * failed before. If such a pass were resumed for ever, it would keep the other lists from being read again.
 */
function isHopeless({ spec, pass }: BegunPass, run: Run, now: number): boolean {
  const { reports, stopped, hasRead, promising } = run;
  const { kind, acceptDeletes, acceptAccount, orderId } = spec;
  if (kind !== 'sync' || acceptDeletes || acceptAccount || orderId !== undefined) return false;
  if (!isMirrorError(stopped, 'GATE_PAUSED', 'SERVICE_DOWN') || hasRead) return false;
  if (now - pass.startedAt.getTime() < HOUR || promising === null) return false;
  const ended = reports.filter(({ outcome }) => outcome !== 'paused');
  const ids = new Set(ended.map(({ key }) => listId(key)));
  return promising.every((key) => ids.has(listId(key)));
}
