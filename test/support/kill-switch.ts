import type { Clock } from '../../src/core/clock.ts';
import { listId } from '../../src/core/lists.ts';
import type { Database, Sql } from '../../src/database/database.ts';
import type { Gate } from '../../src/service/gate/gate.ts';
import type { Http } from '../../src/service/http.ts';
import type { PassEvent } from '../../src/sync/events.ts';
import type { TestClock } from './clock.ts';

/**
 * Everything through which one daemon meets the world. Once it is thrown, nothing of that daemon is answered any more and what its
 * database had open is rolled back, as by SIGKILL; a request that had left still arrives. Until then it keeps the clock from turning while
 * the daemon computes: bottleneck has timers of its own.
 */
export class KillSwitch {
  dead = false;
  /** Called before every statement with their number so far; throws the switch where it returns true. */
  dieBefore: ((statement: number) => boolean) | null = null;
  /** Asked of the database so far. */
  statements = 0;
  readonly #clock: TestClock;
  readonly #onDeath: () => void;
  readonly #sweeping = new Set<string>();
  /** Lists of a pass that wait for one of its lanes. */
  readonly #toCome = new Set<string>();
  #atGate = 0;
  #asleep = 0;
  #release: (() => void) | null = null;
  #opened: Database | null = null;

  constructor(clock: TestClock, onDeath: () => void) {
    this.#clock = clock;
    this.#onDeath = onDeath;
  }

  throw(): void {
    if (this.dead) return;
    this.dead = true;
    this.#onDeath();
    this.#release?.();
    this.#release = null;
    void this.#opened?.close();
  }

  database(opened: Database): Database {
    this.#opened = opened;
    return {
      ...opened,
      ...this.#statementsOf(opened),
      transaction: (work) =>
        this.#answer(() => this.#clock.hold(() => opened.transaction((tx) => work(this.#statementsIn(tx))))),
      typed: (work) => this.#answer(() => this.#clock.hold(() => opened.typed(work))),
      close: () => opened.close(),
    };
  }

  clock(): Clock {
    const { now, monotonic, boot } = this.#clock;
    return { now, monotonic, boot, sleep: (ms, signal) => this.#answer(() => this.#sleep(ms, signal)) };
  }

  /** Renewing the lease every ten seconds is most of what three days are made of; a test's lease is renewed with each look. */
  sleepSlowly(atLeast: number): Clock['sleep'] {
    return (ms, signal) => this.#answer(() => this.#sleep(Math.max(ms, atLeast), signal));
  }

  /** As the machine's clock does, it leaves nothing at the signal when it has slept: days of looks would add up. */
  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const own = new AbortController();
    const wake = (): void => own.abort(signal?.reason);
    signal?.addEventListener('abort', wake);
    try {
      await this.#clock.sleep(ms, own.signal);
    } finally {
      signal?.removeEventListener('abort', wake);
    }
  }

  gateClock(): Clock {
    const clock = this.clock();
    return {
      ...clock,
      sleep: async (ms, signal) => {
        this.#asleep += 1;
        this.#holdOrTurn();
        try {
          await clock.sleep(ms, signal);
        } finally {
          this.#asleep -= 1;
          this.#holdOrTurn();
        }
      },
    };
  }

  gate(gate: Gate): Gate {
    return {
      request: async (...call) => {
        this.#atGate += 1;
        this.#holdOrTurn();
        try {
          return await gate.request(...call);
        } finally {
          this.#atGate -= 1;
          this.#holdOrTurn();
        }
      },
    };
  }

  http(http: Http): Http {
    return { close: http.close, get: (...request) => this.#answer(() => http.get(...request)) };
  }

  heed(event: PassEvent): void {
    if (event.kind === 'list-known') this.#toCome.add(listId(event.key));
    if (event.kind === 'list-begun') {
      this.#toCome.delete(listId(event.key));
      this.#sweeping.add(listId(event.key));
    }
    if (event.kind === 'list-done') {
      this.#toCome.delete(listId(event.report.key));
      this.#sweeping.delete(listId(event.report.key));
      // A pass that is stopped says nothing of the lists that it leaves out.
      if (event.report.outcome === 'paused') this.#toCome.clear();
    }
    this.#holdOrTurn();
  }

  /** A sweep that has nothing at the gate computes, and so does a gate where nobody sleeps or is on the wire. */
  #holdOrTurn(): void {
    const betweenLists = this.#sweeping.size === 0 && this.#toCome.size > 0;
    const computes =
      !this.dead &&
      (betweenLists || this.#sweeping.size > this.#atGate || (this.#atGate > 0 && this.#asleep === 0));
    if (computes && this.#release === null)
      void this.#clock.hold(() => new Promise<void>((resolve) => (this.#release = resolve)));
    else if (!computes && this.#release !== null) {
      this.#release();
      this.#release = null;
    }
  }

  #statementsOf(sql: Sql): Sql {
    return {
      query: (text, ...parameters) =>
        this.#answer(() => (this.#count(), this.#clock.hold(() => sql.query(text, ...parameters)))),
      execute: (text, ...parameters) =>
        this.#answer(() => (this.#count(), this.#clock.hold(() => sql.execute(text, ...parameters)))),
    };
  }

  /** Inside a transaction a dead daemon's next statement fails, so that all of it is rolled back; nobody is told. */
  #statementsIn(sql: Sql): Sql {
    const alive = (): void => {
      this.#count();
      if (this.dead) throw new Error('killed');
    };
    return {
      query: async (text, ...parameters) => (alive(), await sql.query(text, ...parameters)),
      execute: async (text, ...parameters) => (alive(), await sql.execute(text, ...parameters)),
    };
  }

  #count(): void {
    this.statements += 1;
    if (!this.dead && this.dieBefore?.(this.statements)) this.throw();
  }

  async #answer<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.dead) return await never;
    try {
      const result = await work();
      return this.dead ? await never : result;
    } catch (error) {
      return this.dead ? await never : Promise.reject(error);
    }
  }
}

const never = new Promise<never>(() => undefined);
