import type { Clock } from '../../src/core/clock.ts';
import { listId } from '../../src/core/lists.ts';
import type { Database, Sql } from '../../src/database/database.ts';
import type { Client } from '../../src/service/client.ts';
import type { Http } from '../../src/service/http.ts';
import type { PassEvent } from '../../src/sync/events.ts';
import type { TestClock } from './clock.ts';

/** Real time after which a daemon that does nothing waits for the clock. */
const IDLE_MS = 1000;

/**
 * Wraps the database, the clock, the client and its HTTP of one daemon. Once the switch is thrown, none
 * of them answers any more and the open transaction rolls back, as after SIGKILL. A request that has left
 * still arrives. Until then, the switch stops the test clock while the daemon computes.
 */
export class KillSwitch {
  dead = false;
  /** Called before every statement with its number. The switch is thrown if this returns true. */
  dieBefore: ((statement: number) => boolean) | null = null;
  /** The number of statements so far. */
  statements = 0;
  readonly #clock: TestClock;
  readonly #onDeath: () => void;
  readonly #sweeping = new Set<string>();
  /** Lists of a pass that wait for a free lane. */
  readonly #toCome = new Set<string>();
  #atGate = 0;
  #asleep = 0;
  /** Sweeps that sleep until their next token. */
  #paced = 0;
  /** The loop of the daemon between two ticks, and sweeps of an order that wait for the budget. */
  #resting = 0;
  #release: (() => void) | null = null;
  /** What the daemon has done so far, as far as it is seen here. */
  #moves = 0;
  #opened: Database | null = null;

  constructor(clock: TestClock, onDeath: () => void) {
    this.#clock = clock;
    this.#onDeath = onDeath;
  }

  throw(): void {
    if (this.dead) return;
    this.dead = true;
    this.#onDeath();
    this.#letGo();
    void this.#opened?.close();
  }

  database(opened: Database): Database {
    this.#opened = opened;
    return {
      ...opened,
      ...this.#statementsOf(opened),
      transaction: (work, alone) =>
        this.#answer(() =>
          this.#clock.hold(() => opened.transaction((tx) => work(this.#statementsIn(tx)), alone)),
        ),
      typed: (work) => this.#answer(() => this.#clock.hold(() => opened.typed(work))),
      close: () => opened.close(),
    };
  }

  clock(): Clock {
    const { now, monotonic, boot, ledgerTime } = this.#clock;
    return {
      now,
      monotonic,
      boot,
      ledgerTime,
      sleep: (ms, signal) => this.#answer(() => this.#sleep(ms, signal)),
    };
  }

  /**
   * A sleep of at least `atLeast` ms. Renewing the lease every ten seconds would be most of the work of a
   * test over three days; here the daemon renews it once per poll.
   */
  sleepSlowly(atLeast: number): Clock['sleep'] {
    return (ms, signal) => this.#answer(() => this.#sleep(Math.max(ms, atLeast), signal));
  }

  /** Removes its listener after each sleep, like the real clock: listeners of days of polls would add up. */
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
    return this.#countedClock((change) => (this.#asleep += change));
  }

  pacerClock(): Clock {
    return this.#countedClock((change) => (this.#paced += change));
  }

  daemonClock(): Clock {
    return this.#countedClock((change) => (this.#resting += change));
  }

  /** A clock that adds 1 while a sleep lasts. */
  #countedClock(count: (change: 1 | -1) => void): Clock {
    const clock = this.clock();
    return {
      ...clock,
      sleep: async (ms, signal) => {
        count(1);
        this.#holdOrRelease();
        try {
          await clock.sleep(ms, signal);
        } finally {
          count(-1);
          this.#holdOrRelease();
        }
      },
    };
  }

  /** Counts the calls that wait at the gate, or for a test of the key that another call sends. */
  client(client: Client): Client {
    const counted =
      <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        this.#atGate += 1;
        this.#holdOrRelease();
        try {
          return await call(...args);
        } finally {
          this.#atGate -= 1;
          this.#holdOrRelease();
        }
      };
    return {
      pageSize: client.pageSize,
      listPage: counted((...call) => client.listPage(...call)),
      getInbox: counted((...call) => client.getInbox(...call)),
      getConversation: counted((...call) => client.getConversation(...call)),
      search: counted((...call) => client.search(...call)),
      ping: counted((...call) => client.ping(...call)),
      throwIfShut: () => client.throwIfShut(),
    };
  }

  http(http: Http): Http {
    return { close: http.close, get: (...request) => this.#answer(() => http.get(...request)) };
  }

  onEvent(event: PassEvent): void {
    if (event.kind === 'list-known') this.#toCome.add(listId(event.key));
    if (event.kind === 'list-begun') {
      this.#toCome.delete(listId(event.key));
      this.#sweeping.add(listId(event.key));
    }
    if (event.kind === 'list-done') {
      this.#toCome.delete(listId(event.report.key));
      this.#sweeping.delete(listId(event.report.key));
      // A stopped pass reports no event for the lists that it leaves out.
      if (event.report.outcome === 'paused') this.#toCome.clear();
    }
    this.#holdOrRelease();
  }

  /**
   * Stops the clock while the daemon computes: between two lists, in a sweep that neither has a request at
   * the gate nor waits for a token or the budget, or in a gate that does not sleep. Of the sleeps of the
   * daemon's clock one is its loop's.
   */
  #holdOrRelease(): void {
    const betweenLists = this.#sweeping.size === 0 && this.#toCome.size > 0;
    const computes =
      !this.dead &&
      (betweenLists ||
        this.#sweeping.size > this.#atGate + this.#paced + Math.max(0, this.#resting - 1) ||
        (this.#atGate > 0 && this.#asleep === 0));
    this.#moves += 1;
    if (computes && this.#release === null) {
      void this.#clock.hold(() => new Promise<void>((resolve) => (this.#release = resolve)));
      this.#watch();
    } else if (!computes) this.#letGo();
  }

  /** Lets the clock go on if the daemon does nothing: one of its sweeps waits for a request of another one. */
  #watch(): void {
    const moves = this.#moves;
    const timer = setTimeout(() => {
      if (this.#release === null) return;
      if (moves === this.#moves) this.#letGo();
      else this.#watch();
    }, IDLE_MS);
    timer.unref();
  }

  #letGo(): void {
    this.#release?.();
    this.#release = null;
  }

  #statementsOf(sql: Sql): Sql {
    return {
      query: (text, ...parameters) =>
        this.#answer(() => (this.#count(), this.#clock.hold(() => sql.query(text, ...parameters)))),
      execute: (text, ...parameters) =>
        this.#answer(() => (this.#count(), this.#clock.hold(() => sql.execute(text, ...parameters)))),
    };
  }

  /**
   * Inside a transaction, the next statement of a dead daemon fails, and the transaction rolls back.
   * The daemon never receives that error.
   */
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
    this.#moves += 1;
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
