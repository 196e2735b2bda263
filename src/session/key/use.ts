import { homedir } from 'node:os';
import { basename, dirname } from 'node:path';
import { type Budget, BUDGET_WINDOW_MS, lowerBudget } from '../../core/budget.ts';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { foreignUse } from '../../core/gate-state.ts';
import { plural, thousands } from '../../core/humanize.ts';
import type { LedgerRow } from '../../core/ledger.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { KeyRecords, type OtherMirror } from './records.ts';

/** The use of the key as this process knows it, and what it leaves of the configured budget. */
export interface KeyUse {
  /** The present budget: its values change while the process runs. */
  readonly budget: Budget;
  /** The other mirrors of this user on this machine that have used the key in the last 24 hours. */
  others(): readonly OtherMirror[];
  /** Records a request of this mirror, before it leaves. Never throws. */
  granted(request: LedgerRow): void;
  /** Reads the ledger. @throws MirrorError `DATABASE` */
  refresh(): Promise<void>;
}

export interface KeyUseDeps {
  readonly configured: Budget;
  readonly mirror: Pick<Mirror, 'name' | 'id' | 'ledger' | 'budget'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The machine's clock, epoch ms: mirrors on one machine compare their records by it. */
  readonly machineNow: () => number;
  /** The folder of the records; null: this mirror keeps none. */
  readonly folder: string | null;
  /** The key in use and its service (`keyScope`); null: its requests need no record. */
  readonly scope: () => string | null;
  /** Receives, once, why the records cannot be used. */
  readonly onTrouble: (cause: string) => void;
}

/** The records of other mirrors are read again after this many ms. */
const READ_EVERY_MS = SECOND;

/** At most this many files of other mirrors are named. */
const MOST_FILES = 3;

/** After a failure the records are left alone for this many ms. */
const REST_MS = MINUTE;

/** Opens the use of a key. The caller refreshes it at once, and then once a minute. */
export function openKeyUse(deps: KeyUseDeps): KeyUse {
  return new RecordedUse(deps);
}

class RecordedUse implements KeyUse {
  readonly #deps: KeyUseDeps;
  /** Null before the first refresh, and without a folder. */
  #records: KeyRecords | null = null;
  readonly budget: Budget;
  #day: { readonly sent: number; readonly until: number } | null = null;
  /** The ledger's requests at the last refresh, and those of this process since. */
  #own: { readonly at: number; readonly leaving: readonly number[] } = { at: 0, leaving: [] };
  #since = 0;
  /** Other places of this mirror. Their records have no request which its own ledger lacks. */
  #contained: readonly OtherMirror[] = [];
  #others: { readonly at: number; readonly mirrors: readonly OtherMirror[] } | null = null;
  #restsUntil = Number.NEGATIVE_INFINITY;
  #isReported = false;

  constructor(deps: KeyUseDeps) {
    this.#deps = deps;
    const { configured } = deps;
    const values = () => lowerBudget(configured, { dayLimit: this.#dayLimit(), others: this.others() });
    const why = () => this.#why();
    this.budget = {
      ...configured,
      get perDay() {
        return values().perDay;
      },
      get reserved() {
        return values().reserved;
      },
      get isUsedUp() {
        return values().isUsedUp;
      },
      get lowered() {
        return why();
      },
    };
  }

  others(): readonly OtherMirror[] {
    const contained = new Set(this.#contained.map(stateOf));
    return this.#recorded().filter((other) => !contained.has(stateOf(other)));
  }

  #recorded(): readonly OtherMirror[] {
    const now = this.#deps.machineNow();
    const known = this.#others;
    if (known !== null && Math.abs(now - known.at) < READ_EVERY_MS) return known.mirrors;
    const read = this.#read(now);
    // While the records cannot be read, the last reading counts until its requests have left the window.
    const mirrors = read ?? (known !== null && now - known.at < BUDGET_WINDOW_MS ? known.mirrors : []);
    this.#others = { at: read === null && known !== null ? known.at : now, mirrors };
    return mirrors;
  }

  granted(request: LedgerRow): void {
    this.#since += 1;
    this.#write(request);
  }

  async refresh(): Promise<void> {
    const { mirror, clock, machineNow, folder } = this.#deps;
    const now = clock.now();
    const use = foreignUse(await mirror.ledger.gateState(), now);
    this.#day = use?.kind === 'day' ? { sent: use.sent, until: use.until.getTime() } : null;
    if (folder === null) return;
    const before = this.#since;
    const { sent, leaving } = await mirror.budget.windowByHour(now);
    // The window is longer than the hours: the newest requests leave it after them.
    const newest = sent - leaving.reduce((sum, requests) => sum + requests, 0);
    // A mirror that has replaced this one must not overwrite its record. The id is read after the ledger: if
    // the mirror is replaced between the two, its requests count twice, not never.
    const id = (await mirror.id()) ?? '';
    this.#own = { at: machineNow(), leaving: [...leaving, newest] };
    this.#since -= before;
    this.#records = new KeyRecords(folder, { name: mirror.name, id });
    await this.#findContained();
  }

  #read(now: number): readonly OtherMirror[] | null {
    return this.#try((records, scope) => records.others(scope, now));
  }

  /** A mirror that was moved or copied has the requests of its former place in its ledger. */
  async #findContained(): Promise<void> {
    const contained: OtherMirror[] = [];
    for (const other of this.#read(this.#deps.machineNow()) ?? []) {
      const { isCopy, last } = other;
      if (isCopy && last !== null && (await this.#deps.mirror.budget.hasRow(last))) contained.push(other);
    }
    this.#contained = contained;
  }

  #dayLimit(): number | null {
    return this.#day === null || this.#day.until <= this.#deps.clock.now() ? null : this.#day.sent;
  }

  #why(): string | null {
    const causes = [];
    const day = this.#dayLimit();
    if (day !== null)
      causes.push(`the account's day was full when this mirror had sent ${thousands(day)} requests`);
    if (this.others().length > 0) causes.push(othersWords(this.others()));
    return causes.length === 0 ? null : causes.join('; ');
  }

  #write(last: LedgerRow): void {
    const { configured, machineNow } = this.#deps;
    const { at, leaving } = this.#own;
    this.#try((records, scope) => {
      const newest = (leaving.at(-1) ?? 0) + this.#since;
      const use = { at, leaving: [...leaving.slice(0, -1), newest], last };
      records.add(scope, configured.perDay, use, machineNow());
      this.#removeContained(records);
      return true;
    });
  }

  /** The mirror's own record now has the requests of its former places: others would count them twice. */
  #removeContained(records: KeyRecords): void {
    if (this.#contained.length === 0) return;
    for (const former of this.#contained) records.remove(former);
    this.#contained = [];
    this.#others = null;
  }

  /** @returns null if the records cannot be used now */
  #try<Result>(work: (records: KeyRecords, scope: string) => Result): Result | null {
    const now = this.#deps.machineNow();
    const scope = this.#deps.scope();
    if (this.#records === null || scope === null || now < this.#restsUntil) return null;
    try {
      return work(this.#records, scope);
    } catch (error) {
      this.#restsUntil = now + REST_MS;
      if (!this.#isReported) this.#deps.onTrouble(messageOf(error));
      this.#isReported = true;
      return null;
    }
  }
}

/** A record in its present state: another one follows with its next request. */
function stateOf({ record, last }: OtherMirror): string {
  return `${record} ${last?.id}`;
}

/** The words of `status`, `doctor` and the log about other mirrors with the key. */
export function othersWords(mirrors: readonly OtherMirror[]): string {
  const sent = plural(
    mirrors.reduce((sum, mirror) => sum + mirror.sent, 0),
    'request',
  );
  return `${whoUses(mirrors)} this key and sent ${sent} in the last day`;
}

/** The warning about other mirrors: 3 or 4 lines of a terminal. */
export function othersWarning(mirrors: readonly OtherMirror[]): string {
  const count = mirrors.reduce((sum, mirror) => sum + mirror.sent, 0) === 1 ? 'counts' : 'count';
  // The ledger has the requests from before a move.
  const why = mirrors.every(({ isCopy }) => isCopy)
    ? 'If this mirror was moved from there, they count twice:'
    : 'If they were a trial that does not count at the service,';
  return `${othersWords(mirrors)}, which ${count} here for a day. ${why} delete ${filesOf(mirrors)}`;
}

/** The files of the records, as a shell expands them: they lie in one folder. */
function filesOf(mirrors: readonly OtherMirror[]): string {
  const whole = dirname(mirrors[0]?.record ?? '');
  const home = homedir();
  const folder = whole.startsWith(`${home}/`) ? `~${whole.slice(home.length)}` : whole;
  const names = mirrors.slice(0, MOST_FILES).map(({ record }) => basename(record, '.json'));
  const more = mirrors.length > MOST_FILES ? ` and ${mirrors.length - MOST_FILES} more files there` : '';
  return `${folder}/${names.length === 1 ? names.join() : `{${names.join()}}`}.json${more}`;
}

function whoUses(mirrors: readonly OtherMirror[]): string {
  const name = mirrors[0]?.name ?? '';
  const isOne = mirrors.length === 1;
  if (mirrors.every(({ isFormer }) => isFormer))
    return isOne ? `an earlier mirror at ${name} used` : `${mirrors.length} earlier mirrors at ${name} used`;
  if (!isOne) return `${mirrors.length} other mirrors use`;
  const isCopy = mirrors[0]?.isCopy === true;
  return `${isCopy ? 'a copy of this mirror, or its former place' : 'another mirror'}, ${name}, uses`;
}
