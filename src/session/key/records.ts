import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import { DAY, HOUR } from '../../core/clock.ts';
import { codeOf } from '../../core/errors.ts';
import type { LedgerRow } from '../../core/ledger.ts';
import { keyFingerprint, SANDBOX_KEY } from '../../core/secrets.ts';
import { locked } from './lock.ts';
import { placeOf } from './place.ts';

/**
 * The name of a key at a service: a key may be known to several services, such as the sandboxes of a test.
 * Null for the sandbox's own key at an address of this machine: those requests use up no account's day. Any
 * other key counts at such an address too, where a proxy may forward to the service.
 * @param fingerprint of the key @param address INBOX_API_URL
 */
export function keyScope(fingerprint: string, address: string | null): string | null {
  if (fingerprint === keyFingerprint(SANDBOX_KEY) && isOnThisMachine(address)) return null;
  const service = createHash('sha256')
    .update((address ?? '').toLowerCase())
    .digest('hex')
    .slice(0, 8);
  return `${fingerprint}-${service}`;
}

/** True for an address whose host is a loopback name or number. */
function isOnThisMachine(address: string | null): boolean {
  const host = URL.parse(address ?? '')?.hostname ?? '';
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** A mirror's requests: the n-th number has those that leave the window in the n-th hour from `at`. */
export interface Use {
  /** Epoch ms by the machine's clock. */
  readonly at: number;
  readonly leaving: readonly number[];
  /** The mirror's newest request; null in records of earlier versions. */
  readonly last: LedgerRow | null;
}

/** Another mirror of this machine's user that has sent requests with the same key in the last 24 hours. */
export interface OtherMirror {
  /** The file or the address, without any password. */
  readonly name: string;
  /** True for an earlier mirror at the place of this one, which was deleted or moved away. */
  readonly isFormer: boolean;
  /** True if it has this mirror's id at another place: this mirror was moved from there, or copied. */
  readonly isCopy: boolean;
  /** Its REQUESTS_PER_DAY. */
  readonly perDay: number;
  /** Its newest request; null if its record does not have it. */
  readonly last: LedgerRow | null;
  /** The file of its record. Without it, its requests count no longer. */
  readonly record: string;
  /** Its requests in the last 24 hours; those of an hour count until all of them have left. */
  readonly sent: number;
}

/** The owner of a record. */
export interface RecordOwner {
  /** The file or the address, without any password. */
  readonly name: string;
  /** The mirror's id. Another mirror of the same name has another one. */
  readonly id: string;
}

/**
 * The records of the mirrors that use a key (docs/decisions/0020): `FOLDER/keys/SCOPE/MIRROR.json`, a
 * small file for each place and id, which only the mirror's own processes replace. A rename replaces a file
 * whole, so readers need no lock and a killed writer leaves the old file. Writers take a lock, so that none
 * sets back what another has added.
 */
export class KeyRecords {
  readonly #folder: string;
  readonly #place: string;
  readonly #id: string;
  readonly #file: string;

  constructor(folder: string, { name, id }: RecordOwner) {
    this.#folder = join(folder, 'keys');
    this.#place = placeOf(name);
    this.#id = id;
    this.#file = fileOf({ name: this.#place, id });
  }

  /**
   * Adds a request to this mirror's record. `use` is what this process knows of the mirror, the request
   * included. The record of a process that knows more stays, and gets the request.
   * @param now epoch ms, by the machine's clock
   * @throws an error of the file system
   */
  add(scope: string, perDay: number, use: Use, now: number): void {
    const folder = join(this.#folder, scope);
    const file = join(folder, this.#file);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    locked(`${file}.lock`, () =>
      writeRecord(file, { name: this.#place, perDay, ...mergedUse(readRecord(file), use, now) }),
    );
  }

  /**
   * The other mirrors with requests in the 24 hours before `now` (epoch ms, the machine's clock). Deletes
   * records that are two days old. A record of the future counts for a day from now.
   * @throws an error of the file system
   */
  others(scope: string, now: number): OtherMirror[] {
    const found = [scope, ...this.#formerScopes(scope)].flatMap((one) => this.#othersIn(one, now));
    // A mirror that has used both keys has its newest requests, and all before them, in one of its records.
    const newest = new Map<string, OtherMirror>();
    for (const other of found) {
      const file = basename(other.record);
      if ((newest.get(file)?.last?.id ?? -1) < (other.last?.id ?? 0)) newest.set(file, other);
    }
    return [...newest.values()];
  }

  /** The other keys with which this mirror has reached the same service: they open the same account. */
  #formerScopes(scope: string): string[] {
    const [, service] = /^.+(-[^-]+)$/.exec(scope) ?? [];
    if (service === undefined) return [];
    return listed(this.#folder).filter(
      (name) => name !== scope && name.endsWith(service) && existsSync(join(this.#folder, name, this.#file)),
    );
  }

  #othersIn(scope: string, now: number): OtherMirror[] {
    const folder = join(this.#folder, scope);
    return listed(folder)
      .filter((file) => file !== this.#file && !file.startsWith(`${this.#file}.`))
      .flatMap((file) => {
        const record = file.endsWith('.json') ? presentRecord(join(folder, file), now) : null;
        if (record === null) return [];
        const sent = sentAt(record, now);
        if (now - record.at > 2 * DAY) rmSync(join(folder, file), { force: true });
        const { name, perDay, last } = record;
        const isHere = placeOf(name) === this.#place;
        const isCopy = file === fileOf({ name, id: this.#id });
        // An earlier version wrote it under another spelling of this mirror's name.
        if (sent === 0 || (isHere && isCopy)) return [];
        return [{ name, isFormer: isHere, isCopy, perDay, last, record: join(folder, file), sent }];
      });
  }

  /**
   * Deletes another mirror's record, unless that mirror has added a request to it since it was read.
   * @throws an error of the file system
   */
  remove({ record, last }: OtherMirror): void {
    locked(`${record}.lock`, () => {
      if (readRecord(record)?.last?.id === last?.id) rmSync(record, { force: true });
    });
  }
}

/** The file of an owner's record. */
function fileOf({ name, id }: RecordOwner): string {
  return `${createHash('sha256').update(`${name}\n${id}`).digest('hex').slice(0, 16)}.json`;
}

/** The record after one more request: that of the process that knows more. */
function mergedUse(known: Use | null, own: Use, now: number): Use {
  // The clock was set back since.
  if (known === null || known.at > now) return own;
  const last = newestOf(known.last, own.last);
  if (sentAt(known, now) + 1 <= sentAt(own, now)) return { ...own, last };
  const passed = Math.max(0, Math.floor((now - known.at) / HOUR));
  const at = known.at + passed * HOUR;
  const leaving = known.leaving.slice(passed);
  const newest = Math.ceil((now + BUDGET_WINDOW_MS - at) / HOUR) - 1;
  while (leaving.length <= newest) leaving.push(0);
  leaving[newest] = (leaving[newest] ?? 0) + 1;
  return { at, leaving, last };
}

function newestOf(one: LedgerRow | null, other: LedgerRow | null): LedgerRow | null {
  return one === null || (other !== null && other.id > one.id) ? other : one;
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The content of a record's file. */
type UseRecord = Use & Pick<OtherMirror, 'name' | 'perDay'>;

function writeRecord(file: string, { name, perDay, at, leaving, last }: UseRecord): void {
  const half = `${file}.${process.pid}`;
  const record = { mirror: name, requests_per_day: perDay, at, leaving, last };
  writeFileSync(half, JSON.stringify(record), { mode: 0o600 });
  renameSync(half, file);
}

/** A record may be this many ms in the future: its requests count by the hour. */
const AHEAD_MS = HOUR;

/**
 * Another mirror's record. One that a clock ahead has written is moved to the present: its requests would
 * count until that clock's time, which may be years away.
 */
function presentRecord(file: string, now: number): UseRecord | null {
  const isAhead = (record: UseRecord | null): boolean => record !== null && record.at > now + AHEAD_MS;
  if (isAhead(readRecord(file)))
    locked(`${file}.lock`, () => {
      const record = readRecord(file);
      if (record !== null && isAhead(record)) writeRecord(file, { ...record, at: now });
    });
  return readRecord(file);
}

/** A mirror's record; null if the file is gone, is no file, or another program has written it. */
function readRecord(path: string): UseRecord | null {
  try {
    // A pipe or a device would not end.
    if (!statSync(path).isFile()) return null;
    const {
      mirror: name,
      requests_per_day: perDay,
      at,
      leaving,
      last = null,
    } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    const isWhole =
      typeof name === 'string' &&
      typeof perDay === 'number' &&
      typeof at === 'number' &&
      Array.isArray(leaving) &&
      leaving.every((requests): requests is number => typeof requests === 'number');
    return isWhole ? { name, perDay, at, leaving, last: isRow(last) ? last : null } : null;
  } catch {
    return null;
  }
}

function isRow(value: unknown): value is LedgerRow {
  const row = Object(value) as Partial<LedgerRow>;
  return Number.isInteger(row.id) && Number.isInteger(row.sentAt);
}

/** Requests of a record that may still be in the window at `now`. */
function sentAt({ at, leaving }: Use, now: number): number {
  return leaving
    .filter((_, hour) => at + (hour + 1) * HOUR > now)
    .reduce((sum, requests) => sum + requests, 0);
}
