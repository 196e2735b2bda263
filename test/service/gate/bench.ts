import { EventEmitter, once } from 'node:events';
import { setTimeout as turnOfTheLoop } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/core/clock.ts';
import type { Ledger, Reason } from '../../../src/core/ledger.ts';
import { type Access, keyFingerprint } from '../../../src/core/secrets.ts';
import type { Database } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { DatabaseLedger } from '../../../src/mirror/gate/ledger.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { readBody } from '../../../src/service/envelope.ts';
import type { GateEvent } from '../../../src/service/gate/events.ts';
import type { CallOutcome } from '../../../src/service/gate/calls.ts';
import { Gate, type GateOptions } from '../../../src/service/gate/gate.ts';
import { type Answer, type Http, NoAnswer } from '../../../src/service/http.ts';
import { TestClock } from '../../support/clock.ts';
import { KEY } from '../../support/mirror.ts';
import { urlOf } from '../../support/provider.ts';

/** The ledger's entry of a request for the inboxes. */
export const ENTRY = {
  method: 'GET',
  path: '/inboxes',
  list: 'inboxes',
  inboxId: null,
  reason: 'manual',
} as const;

/** Bottleneck passes a job on through a few turns of the event loop. The test clock stops for this many. */
const BOTTLENECK_TURNS = 6;

/**
 * A test clock that advances only after all work of the current instant is done.
 * That work takes real time in the gate's queue and the database.
 */
export class PatientClock extends TestClock {
  constructor(start?: number) {
    super(start);
    const { sleep } = this;
    this.sleep = async (ms, signal) => {
      this.linger();
      await sleep(ms, signal).finally(() => this.linger());
    };
  }

  linger(jobs = 1): void {
    void this.hold(async () => {
      for (let turn = 0; turn < jobs * BOTTLENECK_TURNS; turn += 1) await turnOfTheLoop(0);
    });
  }

  async work<Result>(job: () => Promise<Result>): Promise<Result> {
    return await this.hold(job).finally(() => this.linger());
  }
}

/** The milliseconds that a request takes to the service and back. */
export type Way = () => readonly [out: number, back: number];

/** HTTP to a sandbox without a socket. Its delays pass on the test clock. */
function virtualHttp(
  sandbox: Sandbox,
  clock: PatientClock,
  way: Way = () => [0, 0],
  key: () => string = () => KEY,
  date: () => string | undefined = () => undefined,
): Http {
  return {
    async get(path, query) {
      const [out, back] = way();
      const headers = { authorization: `Bearer ${key()}` };
      if (out > 0) await clock.sleep(out);
      let answer: Answer;
      try {
        const {
          status,
          headers: given,
          body,
        } = await clock.work(() =>
          sandbox.handle({
            method: 'GET',
            path: `/v1${path}?${new URLSearchParams(query).toString()}`,
            headers,
          }),
        );
        answer = {
          status,
          body,
          retryAfter: given['retry-after'],
          location: given['location'],
          date: given['date'] ?? date(),
        };
      } catch (error) {
        throw new NoAnswer(error instanceof Error ? error.message : 'broken');
      }
      if (back > 0) await clock.sleep(back);
      return answer;
    },
    close: () => undefined,
  };
}

/** Wraps a ledger. The test clock stops during each of its calls. */
function heldLedger(ledger: Ledger, clock: PatientClock): Ledger {
  return {
    grant: (...given) => clock.work(() => ledger.grant(...given)),
    budgetLeft: (...given) => clock.work(() => ledger.budgetLeft(...given)),
    settle: (...given) => clock.work(() => ledger.settle(...given)),
    withdraw: (...given) => clock.work(() => ledger.withdraw(...given)),
    gateState: () => clock.work(() => ledger.gateState()),
    pauseGate: (...given) => clock.work(() => ledger.pauseGate(...given)),
    pauseForFailure: (...given) => clock.work(() => ledger.pauseForFailure(...given)),
    endPause: (...given) => clock.work(() => ledger.endPause(...given)),
    ease: (...given) => clock.work(() => ledger.ease(...given)),
    openGate: (...given) => clock.work(() => ledger.openGate(...given)),
    refuseKey: (...given) => clock.work(() => ledger.refuseKey(...given)),
    lastRefusal: (...given) => clock.work(() => ledger.lastRefusal(...given)),
    allowKey: (...given) => clock.work(() => ledger.allowKey(...given)),
    retryKey: (...given) => clock.work(() => ledger.retryKey(...given)),
    clearOtherRefusal: (...given) => clock.work(() => ledger.clearOtherRefusal(...given)),
    followClock: (...given) => clock.work(() => ledger.followClock(...given)),
    confirmClock: (...given) => clock.work(() => ledger.confirmClock(...given)),
  };
}

export interface AskOptions {
  readonly reason?: Reason;
  readonly signal?: AbortSignal;
  readonly path?: string;
  readonly way?: Way;
}

export interface Process {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly gate: Gate;
  readonly events: GateEvent[];
  /** Resolves when the gate has reported `count` events. */
  reported(count: number): Promise<void>;
  /** Sends one request through the gate. */
  ask(options?: AskOptions): Promise<CallOutcome<unknown>>;
}

export interface Bench {
  readonly clock: PatientClock;
  readonly sandbox: Sandbox;
  /** Resolves when `count` requests have arrived, before the clock advances. */
  arrived(count: number): Promise<void>;
  /**
   * Starts a process of the mirror with its own connection to the database and its own gate.
   * A later call with the same path is a restart of that process.
   */
  start(path: string, options?: StartOptions): Promise<Process>;
}

export interface StartOptions extends Partial<
  Omit<GateOptions, 'ledger' | 'clock' | 'onEvent' | 'budget' | 'access'>
> {
  readonly key?: () => string;
  readonly budget?: Partial<GateOptions['budget']>;
  readonly way?: Way;
  /** The machine's clock, if it is not that of the bench. It must pass time on the bench's clock. */
  readonly clock?: Clock;
  /** The `Date` of the answers. Default: none. */
  readonly date?: () => string | undefined;
  /** The ms by which the next granted slot comes late, as if another process locked the database. */
  readonly lockedMs?: () => number;
  /** Called when a slot is granted, before the gate has the reply. */
  readonly onGranting?: () => void;
  /** Called when the ledger has recorded a request's end, before anything else runs. */
  readonly onSettled?: (ledger: Ledger, id: number) => Promise<void>;
}

/** The access of a process with this key. */
export function accessWith(key: string): Access {
  return { address: 'http://sandbox', fingerprint: keyFingerprint(key) };
}

/** A sandbox and processes that send requests to it, all on one test clock. Database and ledger are real. */
export function benchOf(sandboxOptions: Partial<SandboxOptions> = {}, clock = new PatientClock()): Bench {
  const sandbox = createSandbox({
    rate: 0,
    perDay: 0,
    now: clock.now,
    key: KEY,
    conversations: [1],
    ...sandboxOptions,
  });
  const news = new EventEmitter();
  const until = async (reached: () => boolean): Promise<void> => {
    while (!reached()) await once(news, 'news');
  };
  const whenItArrives: Sandbox = {
    ...sandbox,
    handle: (request) => sandbox.handle(request).finally(() => news.emit('news')),
  };
  return {
    clock,
    sandbox,
    arrived: (count) => until(() => sandbox.arrivals.length >= count),
    async start(path, given = {}) {
      const {
        way,
        date,
        lockedMs,
        onGranting,
        onSettled,
        budget,
        clock: own = clock,
        key = () => KEY,
        ...options
      } = given;
      const database = await clock.work(() => openDatabase(urlOf(path)));
      onTestFinished(() => database.close());
      const held = heldLedger(new DatabaseLedger(database), clock);
      const ledger: Ledger = {
        ...held,
        async grant(...asked) {
          const grant = await held.grant(...asked);
          if (!grant.granted) return grant;
          const lateMs = lockedMs?.() ?? 0;
          if (lateMs > 0) await clock.sleep(lateMs);
          onGranting?.();
          return grant;
        },
        async settle(id, outcome) {
          await held.settle(id, outcome);
          await onSettled?.(held, id);
        },
      };
      const events: GateEvent[] = [];
      const gate = new Gate({
        ledger,
        clock: own,
        // A getter of the test's budget stays one: another mirror can lower a budget.
        budget: Object.defineProperties(
          { perSecond: 1, perDay: 5000, reserved: 0 },
          Object.getOwnPropertyDescriptors(budget ?? {}),
        ),
        onEvent(event) {
          events.push(event);
          news.emit('news');
        },
        random: () => 0.5,
        patienceMs: Number.POSITIVE_INFINITY,
        ...options,
        access: () => accessWith(key()),
      });
      let asking = 0;
      return {
        database,
        ledger,
        gate,
        events,
        reported: (count) => until(() => events.length >= count),
        async ask({ reason = 'manual', signal, path: asked = '/inboxes', way: ownWay } = {}) {
          asking += 1;
          clock.linger(asking);
          try {
            return await gate.request(
              { entry: { ...ENTRY, path: asked, reason }, signal },
              {
                send: () => virtualHttp(whenItArrives, clock, ownWay ?? way, key, date).get(asked, {}),
                read: ({ body }) => ({ result: readBody(body), items: 1 }),
              },
            );
          } finally {
            asking -= 1;
          }
        },
      };
    },
  };
}

export const OK = { status: 200, body: '{"results":[],"pagination":{"next_page":null}}' } as const;

/** The milliseconds between each arrival and the one before it. */
export function gapsOf({ arrivals }: Sandbox): number[] {
  return arrivals.slice(1).map(({ at }, index) => at - (arrivals[index]?.at ?? 0));
}

/** Runs `work` `n` times, one run after the other. */
export async function times<Result>(n: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let index = 0; index < n; index += 1) results.push(await work(index));
  return results;
}
