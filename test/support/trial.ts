import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { isMirrorError } from '../../src/core/errors.ts';
import { LEASE_MS } from '../../src/mirror/lease.ts';
import type { Fault } from '../../src/sandbox/http/faults.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { PassReport } from '../../src/sync/pass.ts';
import { Blindness } from './blindness.ts';
import { TestClock } from './clock.ts';
import { Happenings, unlistSome } from './happenings.ts';
import { memoryService, temporaryFolder, type TestMirror, type TestService } from './mirror.ts';
import { mostInADay } from './rows.ts';
import { syncSettled } from './settle.ts';
import type { Step } from './steps.ts';
import { freshMirrorFile, quickMirror } from './template.ts';
import { wrongTombstones } from './truth.ts';

const LISTS = ['', '/users', '/tags', '/conversations'];
/** At most this many days until a mirror that lacks budget equals the service. */
const DAYS_TO_REST = 7;

/** The things that stay while the mirror is closed and opened again. */
interface Surroundings {
  readonly clock: TestClock;
  readonly cap: number;
  readonly path: string;
  readonly ours: TestService;
  readonly others: TestService;
  /** Faults of the answers of `ours`. */
  readonly blindness: Blindness;
  /** The account that answers, and whether its address is another one. */
  answers: { readonly service: TestService; readonly moved: boolean };
}

async function openIn(around: Surroundings): Promise<TestMirror> {
  const { clock, cap, path, ours } = around;
  const ourHttp = around.blindness.wrap(ours.http);
  return await quickMirror({
    path,
    clock,
    service: ours,
    pageSize: 10,
    budget: { perDay: cap },
    address: () => (around.answers.moved ? 'http://other.example/v1' : ours.url),
    wrapHttp: (http) => ({
      get: (...request) => {
        const { service } = around.answers;
        return clock.hold(() => (service === ours ? ourHttp : service.http).get(...request));
      },
      close: http.close,
    }),
  });
}

/** A mirror whose process, host, file and service change as the steps of a history say. */
export class Trial {
  mirror: TestMirror;
  readonly #around: Surroundings;
  readonly #clock: TestClock;
  readonly #ours: TestService;
  readonly #life: Happenings;
  #backup: string | null = null;
  /** Each restored ledger may cost one more cap (docs/reliability.md, "Known limits"). */
  #unlocks = 0;
  #hosts = 0;

  private constructor(mirror: TestMirror, around: Surroundings) {
    this.mirror = mirror;
    this.#around = around;
    this.#clock = around.clock;
    this.#ours = around.ours;
    this.#life = new Happenings(around.ours.sandbox.world);
  }

  /** A trial after its first sync. @param cap requests a day */
  static async begin(cap: number, options: Partial<SandboxOptions>): Promise<Trial> {
    const clock = new TestClock();
    const begin = clock.now();
    // The service's clock is right, however the machine's clock is set.
    const now = (): number => Math.floor(begin + clock.monotonic());
    const ours = memoryService({ ...options, now }, clock);
    const others = otherAccount({ ...options, now }, clock);
    const answers = { service: ours, moved: false };
    const blindness = new Blindness();
    const around = { clock, cap, path: await freshMirrorFile(), ours, others, blindness, answers };
    const trial = new Trial(await openIn(around), around);
    await trial.#sync();
    return trial;
  }

  async take(one: Step): Promise<void> {
    if (one.kind === 'happen') this.#life.make(one.happening);
    else if (one.kind === 'heal') this.#heal();
    else if (one.kind === 'slip') this.#around.blindness.slip(one.row);
    else if (one.kind === 'unlist') unlistSome(this.#ours.sandbox.world, one);
    else if (one.kind === 'obscure') this.#around.blindness.obscure(one.some);
    else if (one.kind === 'blind') this.#around.blindness.begin(one.time);
    else if (one.kind === 'fault') this.#setFault(one);
    else if (one.kind === 'rename-during-walk') this.#renameDuringWalk(one);
    else if (one.kind === 'other-account') await this.#readOthers(one);
    else if (one.kind === 'backup') await this.#backUp();
    else if (one.kind === 'restore') await this.#restore();
    else if (one.kind === 'set-clock') this.#clock.setWall(one.hours * HOUR);
    else if (one.kind === 'other-host') await this.#moveHost(one.hours);
    else {
      this.#clock.advance(one.minutes * MINUTE);
      if (one.kind === 'sync') await this.#sync();
      else await this.#readPage(one.nth);
    }
  }

  async wrongTombstones(): Promise<string[]> {
    return await wrongTombstones({ database: this.mirror.database, sandbox: this.#ours.sandbox });
  }

  /** No 24 hours hold more requests than the cap, whichever account has received them. */
  expectCap(): void {
    const arrivals = [...this.#ours.sandbox.arrivals, ...this.#around.others.sandbox.arrivals];
    const sorted = arrivals.toSorted((a, b) => a.at - b.at);
    expect(mostInADay({ arrivals: sorted })).toBeLessThanOrEqual(this.#around.cap * (1 + this.#unlocks));
  }

  /** The service answers rightly again, and nothing happens there for days. */
  async rest(): Promise<void> {
    this.#heal();
    this.#ours.sandbox.script(undefined);
    // Rows that wait for a second witness may still do so after the first whole pass.
    for (let day = 0, whole = 0; day < DAYS_TO_REST && whole < 2; day += 1) {
      this.#clock.advance(25 * HOUR);
      if ((await syncSettled(this.mirror)).stopped === null) whole += 1;
    }
  }

  #heal(): void {
    this.#ours.sandbox.faults.clear();
    this.#around.blindness.heal();
    for (const { unlisted } of this.#ours.sandbox.world.inboxes.values()) unlisted.clear();
  }

  async #open(): Promise<void> {
    this.mirror = await openIn(this.#around);
  }

  async #close(): Promise<void> {
    await this.mirror.lease.release();
    await this.mirror.database.close();
  }

  async #sync(): Promise<void> {
    const { stopped } = await this.mirror.sync();
    if (!isMirrorError(stopped, 'OTHER_ACCOUNT')) return expectShort(stopped);
    // After another account was seen, the access is refused until its list shows an inbox.
    if (stopped.message.includes('shows no inbox.')) return;
    // A person accepts the account after it has exchanged most of its inboxes.
    expect(await this.#inboxesInCommon(), 'the mirror refuses its own account').toBeLessThanOrEqual(0.5);
    expectShort((await this.mirror.sync({ acceptAccount: true })).stopped);
  }

  /** Reads a page as the daemon does. A list whose page cannot be read loses its bookmarks. */
  async #readPage(nth: number): Promise<void> {
    const bookmarks = [...(await this.mirror.writer.bookmarks.all()).values()].flat();
    const bookmark = bookmarks[nth % Math.max(1, bookmarks.length)];
    if (bookmark === undefined)
      return this.#around.answers.service === this.#ours ? await this.#sync() : undefined;
    try {
      await this.mirror.readPage(bookmark);
    } catch (error) {
      if (!isMirrorError(error)) throw error;
      if (error.code === 'BUDGET_SPENT' || error.code === 'OTHER_ACCOUNT') return;
      await this.mirror.writer.bookmarks.lose(bookmark, 'doubt', this.#clock.now());
    }
  }

  /** The part of the mirror's listed inboxes that the service has under the same address, 0 to 1. */
  async #inboxesInCommon(): Promise<number> {
    const inboxes = await this.mirror.database.query<{ id: string; email: string }>(
      `SELECT id, email FROM inboxes WHERE deleted_at IS NULL AND missing_since IS NULL`,
    );
    const { world } = this.#ours.sandbox;
    const common = inboxes.filter(({ id, email }) => world.inboxes.get(id)?.email === email);
    return common.length / Math.max(1, inboxes.length);
  }

  /**
   * Another account answers a pass, and the reading of a page if the address has moved. Each writes no row.
   * Then the mirror's account answers again.
   */
  async #readOthers({ moved, nth }: { moved: boolean; nth: number }): Promise<void> {
    // A mirror without a live inbox has no account to tell from others.
    const [live] = await this.mirror.database.query(
      `SELECT id FROM inboxes WHERE deleted_at IS NULL LIMIT 1`,
    );
    if (live === undefined) return;
    // A set clock moves the times of suspicions with the next request, whoever answers it.
    await this.mirror.writer.ledger.followClock(await this.#clock.ledgerTime());
    const before = await this.#contents();
    this.#around.answers = { service: this.#around.others, moved };
    const { stopped } = await this.mirror.sync();
    const isShort = isMirrorError(stopped, 'BUDGET_SPENT');
    if (!isShort) expect(stopped).toMatchObject({ code: 'OTHER_ACCOUNT' });
    if (moved) await this.#readPage(nth);
    // A sweep that had every page suspects the rows that it lacks, before its first request.
    const left = isShort ? 'missing_since' : null;
    const shown = (contents: unknown): string =>
      JSON.stringify(contents, (name, value: unknown) => (name === left ? undefined : value), 1);
    expect(shown(await this.#contents())).toBe(shown(before));
    this.#around.answers = { service: this.#ours, moved: false };
    await this.#sync();
  }

  /** Every mirrored row, and the number of changes. */
  async #contents(): Promise<unknown> {
    const { database } = this.mirror;
    const all = async (table: string): Promise<unknown> =>
      await database.query(`SELECT * FROM ${table} ORDER BY 1, 2, 3`);
    return {
      inboxes: await all('inboxes'),
      users: await all('inbox_users'),
      tags: await all('inbox_tags'),
      conversations: await all('conversations'),
      links: await all('conversation_tags'),
      changes: await database.query(`SELECT count(*) AS n FROM changes`),
    };
  }

  async #backUp(): Promise<void> {
    this.#backup = join(temporaryFolder(), 'backup.db');
    await this.mirror.database.execute(`VACUUM INTO '${this.#backup}'`);
  }

  /** As docs/deploy.md says: the daemon stops, the side files go, the copy takes the file's place. */
  async #restore(): Promise<void> {
    if (this.#backup === null) return;
    await this.#close();
    for (const side of ['-wal', '-shm']) rmSync(`${this.#around.path}${side}`, { force: true });
    copyFileSync(this.#backup, this.#around.path);
    this.#unlocks += 1;
    // On another host the lease in the copy may look alive, if the clock shows the time of the backup.
    await this.#open().catch(async (error: unknown) => {
      if (!isMirrorError(error, 'LEASE_HELD')) throw error;
      this.#clock.advance(2 * LEASE_MS);
      await this.#open();
    });
  }

  async #moveHost(byHours: number): Promise<void> {
    await this.#close();
    this.#hosts += 1;
    this.#clock.moveTo(`host-${this.#hosts}`, byHours * HOUR);
    await this.#open();
  }

  #setFault({ fault, list: nth, inbox }: { fault: Fault; list: number; inbox: number }): void {
    const { faults, world } = this.#ours.sandbox;
    const ids = [...world.inboxes.keys()];
    const id = ids[inbox % ids.length];
    const list = LISTS[nth];
    // A 403 for the inboxes refuses the key, which ends the pass: another test has it.
    if (list === '' && fault !== 'forbidden') faults.set('/inboxes', fault);
    else if (list !== '' && id !== undefined) faults.set(`/inboxes/${id}${list}`, fault);
  }

  /** Renames a user and a tag after the next request for their list, and leaves them out of its answer. */
  #renameDuringWalk({ inbox: nth, row }: { inbox: number; row: number }): void {
    const { sandbox } = this.#ours;
    const inboxes = [...sandbox.world.inboxes.values()];
    const inbox = inboxes[nth % inboxes.length];
    const user = [...(inbox?.users.values() ?? [])][row % (inbox?.users.size ?? 1)];
    const tag = [...(inbox?.tags.values() ?? [])][row % (inbox?.tags.size ?? 1)];
    sandbox.script(({ path }) => {
      if (!/\/(users|tags)\?/.test(path)) return undefined;
      if (user !== undefined) user.email = `renamed-${row}@example.com`;
      if (tag !== undefined) tag.name = `Renamed ${row}`;
      sandbox.script(undefined);
      return { status: 200, body: '{"results":[],"pagination":{"next_page":null}}' };
    });
  }
}

/**
 * Another account with the same ids: its rows would overwrite those of the mirror. It has the inboxes under
 * other addresses, and one more.
 */
function otherAccount(options: Partial<SandboxOptions>, clock: TestClock): TestService {
  const service = memoryService(options, clock);
  const { world } = service.sandbox;
  for (const inbox of world.inboxes.values()) {
    inbox.email = `other-${inbox.id}@example.com`;
    for (const id of inbox.conversations.order) world.setStatus(inbox.id, id, 'of another account');
  }
  world.addInbox({ id: '999999999' });
  return service;
}

/** A pass reads all its lists, or stops because the budget is spent. */
function expectShort(stopped: PassReport['stopped']): void {
  if (!isMirrorError(stopped, 'BUDGET_SPENT')) expect(stopped).toBeNull();
}
