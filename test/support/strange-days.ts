import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import type { SandboxRequest } from '../../src/sandbox/sandbox.ts';
import type { RunningDaemon, TestHouse } from './daemon.ts';
import { type Happening, Happenings, unlistSome } from './happenings.ts';
import { nthInbox } from './rows.ts';
import { ANSWERS, PLACES, type StrangeStep } from './strange-steps.ts';

/** A daemon on a service that fails, changes and forgets, as the steps say. */
export class StrangeDays {
  /** The error that ended the daemon, or a sentence; undefined while it runs. */
  ended: unknown;
  readonly house: TestHouse;
  readonly #life: Happenings;
  #running: RunningDaemon | null = null;
  #gone: string | null = null;
  /** Every item that the service has ever removed, as `list inbox id`. */
  readonly #removed = new Set<string>();

  constructor(house: TestHouse) {
    this.house = house;
    this.#life = new Happenings(house.sandbox.world);
  }

  /** Starts a daemon, and lets it read everything. */
  async begin(): Promise<void> {
    await this.#start();
    await this.house.clock.sleep(2 * HOUR);
  }

  async take(step: StrangeStep): Promise<void> {
    const { clock, sandbox } = this.house;
    const { world } = sandbox;
    if (step.kind === 'wait') await clock.sleep(step.hours * HOUR);
    else if (step.kind === 'happen') this.#live(step.happenings);
    else if (step.kind === 'fail') await this.#fail(step);
    else if (step.kind === 'refuse-key') await this.#refuseKey(step.hours);
    else if (step.kind === 'unlist') unlistSome(world, step);
    else if (step.kind === 'relist') this.#relist();
    else if (step.kind === 'inbox-goes') this.#dropInbox();
    else if (step.kind === 'inbox-returns') this.#returnInbox();
    else if (step.kind === 'order') await this.house.order({ kind: step.order, lists: step.lists });
    else if (step.kind === 'cancel-orders') await this.#cancelOrders();
    else if (step.kind === 'set-clock') clock.setWall(step.hours * HOUR);
    else if (step.kind === 'suspend') clock.suspend(step.hours * HOUR);
    else {
      if (step.kind === 'restart') await this.#running?.stop();
      else await this.#kill(step.kind === 'kill' ? step.statements : 1);
      if (step.kind === 'reboot') clock.reboot(step.minutes * MINUTE, step.hours * HOUR);
      else await clock.sleep(step.minutes * MINUTE);
      await this.#start();
      // While a transaction of the daemon is open, a second connection of this process would wait in vain.
      await clock.sleep(MINUTE);
    }
  }

  /**
   * The service answers rightly for three days, in which nothing changes there. After the first two a person
   * accepts the deletions that are held.
   * @returns the lists that are late after the first 26 hours
   */
  async rest(): Promise<string[]> {
    const { clock, sandbox } = this.house;
    sandbox.script(undefined);
    this.#relist();
    await clock.sleep(26 * HOUR);
    const late = await this.house.late();
    await clock.sleep(22 * HOUR);
    await this.house.order({ kind: 'resync', acceptDeletes: true });
    await clock.sleep(DAY);
    return late;
  }

  /** Items that `changes` calls missing at some time, although the service has always had them. */
  async wronglyMissed(): Promise<string[]> {
    const missed = await this.house.database.query<{ list: string; inbox_id: string; item_id: string }>(
      `SELECT DISTINCT list, COALESCE(inbox_id, item_id) AS inbox_id, item_id FROM changes
       WHERE field = 'presence' AND new_value = 'missing'`,
    );
    return missed
      .map(({ list, inbox_id: inbox, item_id: id }) => `${list} ${inbox} ${id}`)
      .filter((item) => !this.#removed.has(item));
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
  }

  async #start(): Promise<void> {
    this.#running = await this.house.start();
    this.ended = undefined;
    void this.#running.ended.then((error) => (this.ended = error ?? 'the daemon ended without an error'));
  }

  async #fail({ faults, hours, hidden }: StrangeStep & { kind: 'fail' }): Promise<void> {
    const { clock, sandbox } = this.house;
    const counted = faults.map(({ answer, place, inbox, oneIn }) => {
      const { id } = nthInbox(sandbox, inbox % sandbox.world.inboxes.size);
      return { paths: new RegExp(PLACES[place].replace('ID', id)), outcome: ANSWERS[answer], oneIn, met: 0 };
    });
    sandbox.script(({ path }: SandboxRequest) => {
      const fault = counted.find((one) => one.paths.test(path) && (one.met += 1) % one.oneIn === 0);
      return fault?.outcome;
    });
    unlistSome(sandbox.world, hidden);
    await clock.sleep(hours * HOUR);
    sandbox.script(undefined);
    this.#relist();
  }

  async #refuseKey(hours: number): Promise<void> {
    const { key } = this.house;
    this.house.key = 'a deleted key';
    await this.house.clock.sleep(hours * HOUR);
    this.house.key = key;
  }

  async #kill(statements: number): Promise<void> {
    const { clock } = this.house;
    const { killSwitch } = this.#running!;
    const last = killSwitch.statements + statements;
    killSwitch.dieBefore = (number) => number === last;
    const until = clock.now() + 2 * HOUR;
    while (!killSwitch.dead && clock.now() < until) await clock.sleep(MINUTE);
    killSwitch.throw();
  }

  async #cancelOrders(): Promise<void> {
    const { clock, database } = this.house;
    const { openPasses } = await this.house.status();
    for (const { id } of openPasses) await mirrorOn(database).orders.cancel(id, clock.now());
  }

  #live(happenings: readonly Happening[]): void {
    const before = this.#items();
    for (const one of happenings) this.#life.make(one);
    const after = new Set(this.#items());
    for (const item of before) if (!after.has(item)) this.#removed.add(item);
  }

  #items(): string[] {
    return [...this.house.sandbox.world.inboxes.values()].flatMap((inbox) =>
      (['users', 'tags', 'conversations'] as const).flatMap((list) =>
        inbox[list].order.map((id) => `${list} ${inbox.id} ${id}`),
      ),
    );
  }

  #relist(): void {
    for (const { unlisted } of this.house.sandbox.world.inboxes.values()) unlisted.clear();
  }

  #dropInbox(): void {
    if (this.#gone !== null) return;
    this.#gone = nthInbox(this.house.sandbox, 2).id;
    this.house.sandbox.world.removeInbox(this.#gone);
    this.#removed.add(`inboxes ${this.#gone} ${this.#gone}`);
  }

  #returnInbox(): void {
    if (this.#gone === null) return;
    this.house.sandbox.world.restoreInbox(this.#gone);
    this.#gone = null;
  }
}
