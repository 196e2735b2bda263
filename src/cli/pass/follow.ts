import type { Budget } from '../../core/budget.ts';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { type ErrorCode, MirrorError } from '../../core/errors.ts';
import { PATIENCE_MS } from '../../core/gate-state.ts';
import { count, duration } from '../../core/humanize.ts';
import type { Wait } from '../../mirror/gate/wait.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { Order } from '../../mirror/passes/orders.ts';
import { liveDaemon } from '../../session/live-daemon.ts';
import type { ListReport, PassEvent } from '../../sync/events.ts';
import { OrderProgress } from './replay.ts';

const POLL_MS = 500;

/** Without a daemon an order that nobody has begun is taken back: long enough for one that is just starting. */
const WITHDRAW_MS = 5 * SECOND;

/** A service manager has started the daemon again by then. */
const RESTART_MS = MINUTE;

/** A wait may begin with the very request that was the order's last: its end then stands a moment later. */
const SURE_MS = 1_500;

export interface FollowDeps {
  readonly mirror: Mirror;
  readonly clock: Clock;
  /** Aborted when a person wants to follow no longer. */
  readonly signal: AbortSignal;
  readonly budget: Pick<Budget, 'perDay'>;
  readonly onEvent: (event: PassEvent) => void;
  /** Why nothing moves, told at every look; empty where it does. */
  readonly note: (text: string) => void;
  /** A sentence to the person, told once. */
  readonly say: (text: string) => void;
}

/** How following an order ended. */
export type Followed =
  | { readonly kind: 'ended'; readonly order: Order; readonly lists: readonly ListReport[] }
  /** No daemon is there to begin it, and none has: whoever ordered it is free to do the work. */
  | { readonly kind: 'not-begun' }
  /** The order goes on without us; `why` says what to expect. */
  | {
      readonly kind: 'left';
      readonly order: Order;
      readonly lists: readonly ListReport[];
      readonly why: MirrorError;
    };

/** Follows an order by what stands in the database, until it has ended or is not worth waiting for. Sends no request. */
export async function followOrder(
  deps: FollowDeps,
  placed: { id: number; joined: boolean },
): Promise<Followed> {
  const { mirror, clock, signal, budget, note, say } = deps;
  const progress = new OrderProgress(mirror, deps.onEvent);
  const daemon = new Span(clock);
  const parked = new Span(clock);
  let saidGone = false;
  for (;;) {
    const order = await mirror.orders.read(placed.id);
    if (order === null) throw new Error(`order ${placed.id} is gone from sync_requests`);
    const moved = await progress.look(order);
    const left = (why: MirrorError): Followed => ({ kind: 'left', order, lists: progress.reports(), why });
    if (order.state === 'abandoned' && order.startedAt === null) return { kind: 'not-begun' };
    if (order.state !== 'open' && order.state !== 'running')
      return { kind: 'ended', order, lists: progress.reports() };

    const goneFor = daemon.lasts((await liveDaemon(deps)) === null);
    if (goneFor !== null && order.state === 'open' && goneFor >= WITHDRAW_MS) {
      // Somebody else's order is left to whoever begins it: we, when we claim the mirror, or a daemon.
      if (placed.joined || (await mirror.orders.withdraw(order.id, clock.now())))
        return { kind: 'not-begun' };
    } else if (goneFor !== null && order.state === 'running') {
      if (!saidGone) say(DAEMON_GONE);
      saidGone = true;
      if (goneFor >= RESTART_MS) return left(new MirrorError('DAEMON_STOPPED', DAEMON_GONE));
    }

    const wait = goneFor === null ? await mirror.wait(budget, clock.now()) : null;
    const parkedFor = parked.lasts(wait !== null && !moved);
    if (wait !== null && parkedFor !== null) {
      const waitsYet = Math.max(0, wait.until.getTime() - clock.now());
      if (parkedFor >= SURE_MS && parkedFor + waitsYet > PATIENCE_MS)
        return left(parkedError(order, wait, budget, waitsYet));
    }
    note(wait === null ? await waitsBehind(mirror, order) : waitNote(wait, budget));

    try {
      await clock.sleep(POLL_MS, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      const goesOn =
        goneFor === null
          ? `The daemon goes on with order ${order.id}; \`inbox-mirror status\` shows it.`
          : DAEMON_GONE;
      return left(new MirrorError('STOPPED', goesOn));
    }
  }
}

const DAEMON_GONE = 'The daemon has stopped; the order goes on when it is started again.';

/** How long something has been so, without a break. */
class Span {
  readonly #clock: Clock;
  #since: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds; null where it is not so now. */
  lasts(isSo: boolean): number | null {
    if (!isSo) this.#since = null;
    else this.#since ??= this.#clock.monotonic();
    return this.#since === null ? null : this.#clock.monotonic() - this.#since;
  }
}

/** The order that must end before this one is begun, in words; empty where there is none. */
async function waitsBehind(mirror: Mirror, { id, state }: Order): Promise<string> {
  const first = state === 'open' ? await mirror.orders.next() : null;
  if (first === null || first.id === id) return '';
  const since =
    first.startedAt === null
      ? `ordered ${first.requestedAt.toISOString()}`
      : `begun ${first.startedAt.toISOString()}`;
  return `Order ${id} waits behind order ${first.id}, \`${first.requestedBy}\`, ${since}.`;
}

function waitNote(wait: Wait, budget: FollowDeps['budget']): string {
  return `The daemon waits until ${wait.until.toISOString()}: ${reason(wait, budget)}.`;
}

const CODES = {
  outage: 'SERVICE_DOWN',
  breaker: 'GATE_PAUSED',
  pause: 'GATE_PAUSED',
  budget: 'BUDGET_SPENT',
} as const satisfies Record<Wait['kind'], ErrorCode>;

function parkedError({ id }: Order, wait: Wait, budget: FollowDeps['budget'], waitsYet: number): MirrorError {
  return new MirrorError(
    CODES[wait.kind],
    `Order ${id} stays with the daemon, which goes on at ${wait.until.toISOString()}, in ${duration(waitsYet)}: ` +
      `${reason(wait, budget)}. \`inbox-mirror status\` shows it.`,
    { resumeAt: wait.until },
  );
}

function reason({ kind, cause }: Wait, budget: FollowDeps['budget']): string {
  if (kind === 'budget') return `the day's budget of ${count(budget.perDay)} requests is spent`;
  const words = {
    outage: 'the service is out of reach',
    breaker: 'the breaker is open',
    pause: 'the gate is paused',
  };
  return `${words[kind]} (${cause ?? 'cause unknown'})`;
}
