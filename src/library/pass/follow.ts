import type { Budget } from '../../core/budget.ts';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { type ErrorCode, MirrorError } from '../../core/errors.ts';
import { outageWords, PATIENCE_MS } from '../../core/gate-state.ts';
import { thousands, duration } from '../../core/humanize.ts';
import type { Wait } from '../../mirror/gate/wait.ts';
import { isOpenPass, isWithdrawn, type Mirror } from '../../mirror/mirror.ts';
import type { Order } from '../../mirror/passes/orders.ts';
import { liveDaemon } from '../../session/lease/live-daemon.ts';
import type { ListReport, PassEvent } from '../../sync/events.ts';
import { Replay } from './replay.ts';

/** The order is polled once in this many ms: about twice for each page at the service's pace. */
const POLL_MS = 500;

/** If no daemon runs for this many ms, the command withdraws its order. A daemon needs less to start. */
const WITHDRAW_MS = 5 * SECOND;

/** A daemon that stopped during the order has this many ms to restart; then the command exits. */
const RESTART_MS = MINUTE;

/** Shorter waits, in ms, are ignored: one can begin with the order's last request, before the order ends. */
const SURE_MS = 1_500;

export interface FollowDeps {
  readonly mirror: Mirror;
  readonly clock: Clock;
  /** Aborted when a person stops the command. */
  readonly signal: AbortSignal;
  readonly budget: Pick<Budget, 'perDay'>;
  readonly onEvent: (event: PassEvent) => void;
  /** Called at each poll with the reason why the order waits, and until when; empty if it does not. */
  readonly note: (text: string, until?: Date) => void;
  /** Prints a sentence. */
  readonly print: (text: string) => void;
}

/** How following an order ended. */
export type Followed =
  | { readonly kind: 'ended'; readonly order: Order; readonly lists: readonly ListReport[] }
  /** No daemon runs, and none has begun the order: the command may do the pass itself. */
  | { readonly kind: 'not-begun' }
  /** The command stopped following; the order stays with the daemon. `why` becomes the command's error. */
  | {
      readonly kind: 'left';
      readonly order: Order;
      readonly lists: readonly ListReport[];
      readonly why: MirrorError;
    };

/**
 * Polls the database until the order ends, must wait for longer than `PATIENCE_MS`, or has lost its daemon.
 * Sends no request.
 */
export async function followOrder(
  deps: FollowDeps,
  placed: { id: number; joined: boolean },
): Promise<Followed> {
  const { mirror, clock, signal, budget, note, print } = deps;
  const replay = new Replay(mirror, deps.onEvent);
  const absence = new Span(clock);
  const stall = new Span(clock);
  let printedGone = false;
  for (;;) {
    const order = await mirror.orders.read(placed.id);
    if (order === null) throw new Error(`order ${placed.id} is gone from sync_requests`);
    const moved = await replay.poll(order);
    const left = (why: MirrorError): Followed => ({ kind: 'left', order, lists: replay.reports(), why });
    if (isWithdrawn(order)) return { kind: 'not-begun' };
    if (!isOpenPass(order)) return { kind: 'ended', order, lists: replay.reports() };

    const goneFor = absence.lasts((await liveDaemon(deps)) === null);
    if (goneFor !== null && order.state === 'open' && goneFor >= WITHDRAW_MS) {
      // Leave an order that another command placed: this process begins it with its claim, or a daemon does.
      if (placed.joined || (await mirror.orders.withdraw(order.id, clock.now())))
        return { kind: 'not-begun' };
    } else if (goneFor !== null && order.state === 'running') {
      if (!printedGone) print(DAEMON_GONE);
      printedGone = true;
      if (goneFor >= RESTART_MS) return left(new MirrorError('DAEMON_STOPPED', DAEMON_GONE));
    }

    const wait = goneFor === null ? await mirror.readWait(budget, clock.now()) : null;
    const stalledFor = stall.lasts(wait !== null && !moved);
    if (wait !== null && stalledFor !== null) {
      const leftMs = Math.max(0, wait.until.getTime() - clock.now());
      if (stalledFor >= SURE_MS && stalledFor + leftMs > PATIENCE_MS)
        return left(waitsTooLong(order, wait, budget, leftMs));
    }
    if (wait === null) note(await queueNote(mirror, order));
    else note(waitNote(wait, budget, clock.now()), wait.until);

    try {
      await clock.sleep(POLL_MS, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      const message =
        goneFor === null
          ? `The daemon continues with order ${order.id}; \`inbox-mirror status\` shows it.`
          : DAEMON_GONE;
      return left(new MirrorError('STOPPED', message));
    }
  }
}

const DAEMON_GONE = 'The daemon has stopped; the order resumes when a daemon starts.';

/** Measures for how long a condition has held without a break. */
class Span {
  readonly #clock: Clock;
  #since: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds so far; null if the condition does not hold now. */
  lasts(holds: boolean): number | null {
    if (!holds) this.#since = null;
    else this.#since ??= this.#clock.monotonic();
    return this.#since === null ? null : this.#clock.monotonic() - this.#since;
  }
}

/** Names the order that must end before this one begins; empty if there is none. */
async function queueNote(mirror: Mirror, { id, state }: Order): Promise<string> {
  const first = state === 'open' ? await mirror.orders.next() : null;
  if (first === null || first.id === id) return '';
  const since =
    first.startedAt === null
      ? `ordered ${first.requestedAt.toISOString()}`
      : `begun ${first.startedAt.toISOString()}`;
  return `Order ${id} waits behind order ${first.id}, \`${first.requestedBy}\`, ${since}.`;
}

function waitNote(wait: Wait, budget: FollowDeps['budget'], now: number): string {
  // The retry of an outage that is due is under way until the service answers or fails again.
  if (wait.until.getTime() <= now) return `The daemon is trying again now: ${reason(wait, budget)}.`;
  return `The daemon waits until ${wait.until.toISOString()}: ${reason(wait, budget)}.`;
}

const CODES = {
  outage: 'SERVICE_DOWN',
  breaker: 'GATE_PAUSED',
  pause: 'GATE_PAUSED',
  budget: 'BUDGET_SPENT',
} as const satisfies Record<Wait['kind'], ErrorCode>;

function waitsTooLong({ id }: Order, wait: Wait, budget: FollowDeps['budget'], leftMs: number): MirrorError {
  return new MirrorError(
    CODES[wait.kind],
    `Order ${id} stays with the daemon, which resumes at ${wait.until.toISOString()}, ` +
      `in ${duration(leftMs)}: ${reason(wait, budget)}. \`inbox-mirror status\` shows it.`,
    { resumeAt: wait.until },
  );
}

function reason({ kind, cause }: Wait, budget: FollowDeps['budget']): string {
  if (kind === 'budget') return `the day's budget of ${thousands(budget.perDay)} requests is spent`;
  const words = {
    outage: outageWords({ cause }),
    breaker: 'no request is sent after repeated answers of HTTP 429',
    pause: 'requests are paused',
  };
  return `${words[kind]} (${cause ?? 'cause unknown'})`;
}
