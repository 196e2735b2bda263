import * as fc from 'fast-check';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { LIST_NAMES, type ListName } from '../../src/core/lists.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import type { SandboxRequest, ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import type { RunningDaemon, TestHouse } from './daemon.ts';
import { happening, type Happening, Happenings, type Some, unlistSome } from './happenings.ts';
import { nthInbox } from './rows.ts';

const EMPTY = '{"results":[],"pagination":{"next_page":null}}';
const OTHER = '{"data":{"id":"1","status":"open","assignee":null,"tag_ids":[]}}';

/** Wrong answers, each by what a log would say of it. */
const ANSWERS = {
  reset: 'reset',
  'server error': { status: 500, body: 'oops' },
  maintenance: { status: 503, body: '<html>Back soon</html>', headers: { 'retry-after': '900' } },
  'too many': { status: 429, body: '{}' },
  'too many, wait': { status: 429, body: '{}', headers: { 'retry-after': '1800' } },
  forbidden: { status: 403, body: '{"errors":[{"message":"no access"}]}' },
  'not found': { status: 404, body: '{"errors":[{"message":"not found"}]}' },
  'bad request': { status: 400, body: '{"errors":[{"message":"not now"}]}' },
  empty: { status: 200, body: EMPTY },
  'no list': { status: 200, body: '{}' },
  'web page': { status: 200, body: '<html>Back soon</html>' },
  'another row': { status: 200, body: OTHER },
} satisfies Record<string, ScriptedOutcome>;

/** Groups of paths that fail together. `ID` stands for an inbox. */
const PLACES = {
  everything: '/',
  'all pages of conversations': '/conversations\\?',
  'later pages of conversations': '/conversations\\?.*next_page=',
  'single conversations': '/conversations/',
  'one inbox': '/inboxes/ID',
  'the conversations of one inbox': '/inboxes/ID/conversations\\?',
  'single conversations of one inbox': '/inboxes/ID/conversations/',
  'the inboxes': '/v1/inboxes\\?',
  'single inboxes': '/v1/inboxes/\\d+$',
  'users and tags': '/(users|tags)\\?',
  searches: '/(users|tags)/search',
};

/** Every `oneIn`-th request of a place gets the answer. */
interface StrangeFault {
  readonly answer: keyof typeof ANSWERS;
  readonly place: keyof typeof PLACES;
  readonly inbox: number;
  readonly oneIn: number;
}

/** One step of a strange time. The numbers select an inbox or a row among those that exist. */
export type StrangeStep =
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'happen'; readonly happenings: readonly Happening[] }
  | { readonly kind: 'fail'; readonly faults: readonly StrangeFault[]; readonly hours: number }
  | { readonly kind: 'refuse-key'; readonly hours: number }
  | ({ readonly kind: 'unlist' } & Some)
  | { readonly kind: 'relist' }
  | { readonly kind: 'inbox-goes' }
  | { readonly kind: 'inbox-returns' }
  | { readonly kind: 'order'; readonly order: 'sync' | 'resync'; readonly lists: readonly ListName[] }
  | { readonly kind: 'cancel-orders' }
  | { readonly kind: 'restart'; readonly minutes: number }
  | { readonly kind: 'kill'; readonly statements: number; readonly minutes: number }
  | { readonly kind: 'reboot'; readonly minutes: number; readonly hours: number }
  | { readonly kind: 'set-clock'; readonly hours: number }
  | { readonly kind: 'suspend'; readonly hours: number };

const of = <Kind extends StrangeStep['kind']>(kind: Kind): fc.Arbitrary<Kind> => fc.constant(kind);
const minutes = fc.constantFrom(0, 1, 30, 300);
const wrongBy = fc.constantFrom(-25, -2, 2, 25);
const inAHappening = happening.filter(({ kind }) => !kind.endsWith('-inbox'));

/** A 403 for the inboxes refuses the key for good: `refuse-key` has it. */
const refusesKey = ({ answer, place }: StrangeFault): boolean =>
  answer === 'forbidden' && (place === 'everything' || place === 'the inboxes');

const strangeFault = fc
  .record<StrangeFault>({
    answer: fc.constantFrom(...(Object.keys(ANSWERS) as (keyof typeof ANSWERS)[])),
    place: fc.constantFrom(...(Object.keys(PLACES) as (keyof typeof PLACES)[])),
    inbox: fc.nat(2),
    oneIn: fc.constantFrom(1, 1, 2, 5),
  })
  .filter((fault) => !refusesKey(fault));

export const strangeStep: fc.Arbitrary<StrangeStep> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: of('wait'), hours: fc.constantFrom(0.1, 1, 5, 13, 26) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: of('happen'),
      happenings: fc.array(inAHappening, { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: of('fail'),
      faults: fc.array(strangeFault, { minLength: 1, maxLength: 3 }),
      hours: fc.constantFrom(0.05, 0.5, 2, 7, 20),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('refuse-key'), hours: fc.constantFrom(0.1, 3, 30) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: of('unlist'),
      inbox: fc.nat(2),
      row: fc.nat(97),
      rows: fc.constantFrom(1, 3, 12, 25),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('relist') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('inbox-goes') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('inbox-returns') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: of('order'),
      order: fc.constantFrom('sync', 'resync'),
      lists: fc.subarray([...LIST_NAMES], { minLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('cancel-orders') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('restart'), minutes }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: of('kill'), statements: fc.integer({ min: 1, max: 400 }), minutes }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('reboot'), minutes, hours: wrongBy }) },
  { weight: 1, arbitrary: fc.record({ kind: of('set-clock'), hours: wrongBy }) },
  { weight: 1, arbitrary: fc.record({ kind: of('suspend'), hours: fc.constantFrom(0.1, 9) }) },
);

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

  async #fail({ faults, hours }: StrangeStep & { kind: 'fail' }): Promise<void> {
    const { clock, sandbox } = this.house;
    const counted = faults.map(({ answer, place, inbox, oneIn }) => {
      const { id } = nthInbox(sandbox, inbox % sandbox.world.inboxes.size);
      return { paths: new RegExp(PLACES[place].replace('ID', id)), outcome: ANSWERS[answer], oneIn, met: 0 };
    });
    sandbox.script(({ path }: SandboxRequest) => {
      const fault = counted.find((one) => one.paths.test(path) && (one.met += 1) % one.oneIn === 0);
      return fault?.outcome;
    });
    await clock.sleep(hours * HOUR);
    sandbox.script(undefined);
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
    for (const { id } of openPasses) await openMirror(database).orders.cancel(id, clock.now());
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
