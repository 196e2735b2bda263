import { HOUR } from '../core/clock.ts';
import type { Pass, PassSpec } from '../mirror/passes/passes.ts';
import type { ListReport } from './events.ts';

/** A run of a pass. An interrupted pass has several. */
export interface Run {
  readonly reports: readonly ListReport[];
  /** The error that stopped the run; null: none so far. */
  readonly stopped: unknown;
  /** The run has read a page. */
  readonly hasRead: boolean;
}

interface Begun {
  readonly spec: PassSpec;
  readonly pass: Pass;
  /** Epoch ms. */
  readonly now: number;
}

/** A pass of each kind can be stuck this many ms after it began. A resync reads whole lists again. */
const STUCK_AFTER_MS = { sync: HOUR, resync: 20 * HOUR };

/**
 * True for a pass that began long ago. If only lists that fail alone are left to read, each run would end
 * there, and the lists that are complete would not be read again. A consent or an order is carried out
 * nevertheless.
 */
export function mayBeStuck({ spec, pass, now }: Begun): boolean {
  const { kind, acceptDeletes, acceptAccount, orderId } = spec;
  if (acceptDeletes || acceptAccount || orderId !== undefined) return false;
  return pass.resumed && now - pass.startedAt.getTime() >= STUCK_AFTER_MS[kind];
}

/**
 * True for a person's resync of which single lists failed: a new one would read every list from its first
 * page again. False if the run read no page: else the pass would stay open for as long as a list is broken.
 * False for a daemon's pass too, because the daemon reads these lists again itself.
 */
export function isUnfinished({ kind, orderId }: PassSpec, { reports, hasRead }: Run): boolean {
  if (kind !== 'resync' || orderId !== undefined || !hasRead) return false;
  return reports.some(({ outcome }) => outcome === 'paused');
}
