import { unlessAborted } from '../core/abortable.ts';
import { type Clock, HOUR, MINUTE } from '../core/clock.ts';
import { isMirrorError, MirrorError } from '../core/errors.ts';
import { plural } from '../core/humanize.ts';
import type { Reason } from '../core/ledger.ts';
import { INBOXES } from '../core/lists.ts';
import { type Access, accessId } from '../core/secrets.ts';
import type { KnownAccount, KnownInbox } from '../mirror/gate/account.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { CallOptions, Client, Page } from '../service/client.ts';
import type { SweepDeps } from './deps.ts';

/** The pages of a list by the token that leads to them; null leads to the first. */
export type PagesByToken = ReadonlyMap<string | null, Page>;

/** An inbox as the service lists it; `email` is undefined if the row cannot be read. */
export interface ListedInbox {
  readonly id: string;
  readonly email: string | null | undefined;
}

/**
 * Milliseconds until the daemon tests the service again after it showed another account, at least and at
 * most. In between it waits for as long as the other account has shown: the first answer may be a wrong one.
 */
const SHORTEST_TEST_MS = 5 * MINUTE;
export const LONGEST_TEST_MS = HOUR;

/** At most this many pages of inboxes are read before the first one is applied. */
const MOST_AHEAD = 50;

/** No further page is read ahead once the rows of those in memory have this many characters. */
const MOST_AHEAD_CHARACTERS = 32 * 1024 * 1024;

/** At most this many inboxes are requested by their ids: some may have been deleted. */
const MOST_SHOWN = 3;

/** At most this many inboxes of each side in the message. */
const NAMED = 3;

interface AccountDeps {
  readonly mirror: Writer;
  readonly clock: Clock;
  /** The address and the key in use. The key can change while the process runs. */
  readonly access: () => Access;
}

/**
 * Keeps the rows of another account out of the mirror (docs/decisions/0017). The mark of an account is its
 * inboxes, by id and address. The first page of `inboxes` is compared with them each time it is read, and
 * before any other list when the address or the key has changed. The sweeps of one process share an instance.
 */
export class AccountCheck {
  /** The access in use, as {@link accessId} names it. */
  readonly access = (): string => accessId(this.#deps.access());
  readonly #deps: AccountDeps;
  /** The access that has last led to the mirror's account; null before the first look at the mirror. */
  #proven: string | null = null;
  #test: Promise<unknown> | null = null;

  constructor(deps: AccountDeps) {
    this.#deps = deps;
  }

  /**
   * Proves, before a request for another list, that the access in use leads to the mirror's account. Costs
   * nothing unless address or key have changed, and then a request.
   * @param client the sweep's, which may wait for the pace
   * @throws MirrorError `OTHER_ACCOUNT`, or the error of the request
   */
  async prove(client: Client, { signal, ...options }: CallOptions): Promise<void> {
    for (;;) {
      const access = this.#deps.access();
      if (this.#proven === accessId(access)) return;
      const known = await this.#deps.mirror.account();
      if (isProvenBy(known, access)) this.#proven = accessId(access);
      else if (!known.inboxes.some(isLive)) await this.#record(access, known);
      else {
        // Lists that are swept side by side share the request, which may test an earlier access than theirs.
        this.#test ??= this.readInboxes(client, options, false).finally(() => (this.#test = null));
        await unlessAborted(this.#test, signal);
      }
    }
  }

  /**
   * True if an inbox, requested by its id, has the address that the mirror knows: a weaker proof than the
   * list of inboxes, for a service that does not answer that one. False if it has another one; null if the
   * service does not know the mirror's first inboxes, as in some outages.
   * @throws MirrorError the error of a request
   */
  async showsInbox(client: Client, options: CallOptions): Promise<boolean | null> {
    const known = (await this.#deps.mirror.account()).inboxes.filter(isLive).slice(0, MOST_SHOWN);
    for (const { id, email } of known) {
      const found = await this.proven(client, options, () => client.getInbox(id, options));
      if (found !== null)
        return found.item.id === id && isSameAddress(email, found.item.columns['email'] as string | null);
    }
    return null;
  }

  /**
   * Sends a request to the mirror's account: proves the access before the request, and again if it has
   * changed when the answer is there. A request may wait for long, and takes the key in use when it leaves.
   * @throws MirrorError `OTHER_ACCOUNT`, or the error of the request
   */
  async proven<Answer>(client: Client, options: CallOptions, send: () => Promise<Answer>): Promise<Answer> {
    const before = this.access();
    await this.prove(client, options);
    try {
      return await send();
    } finally {
      if (this.access() !== before) await this.prove(client, options);
    }
  }

  /**
   * Reads as many pages of `inboxes` as show whose they are; for most accounts that is the first page. If the
   * access changes meanwhile, it begins again without the consent: either may have been used for a page.
   * @param accepts a person has accepted the account that the service shows. The consent ends with this
   *   reading: a later change of the access is tested like any other
   * @throws MirrorError `OTHER_ACCOUNT`, which is recorded, or the error of a request
   */
  async readInboxes(client: Client, options: CallOptions, accepts: boolean): Promise<PagesByToken> {
    const { mirror, clock } = this.#deps;
    const access = this.#deps.access();
    const known = await mirror.account();
    const knownInbox = known.inboxes.find(isLive)?.id;
    const pages = new Map<string | null, Page>();
    const listed: ListedInbox[] = [];
    let token: string | null = null;
    let characters = 0;
    do {
      const call = { ...options, knownInbox };
      const page: Page | null = await client.listPage(INBOXES, token, call).catch((error: unknown) => {
        // The walk meets the refused token too, and restarts the list.
        if (isMirrorError(error, 'TOKEN_REFUSED')) return null;
        throw error;
      });
      if (this.access() !== accessId(access)) return await this.readInboxes(client, options, false);
      if (page === null) break;
      pages.set(token, page);
      listed.push(...inboxesOf(page));
      token = page.next;
      for (const { raw } of [...page.items, ...page.rejects]) characters += raw.length;
      if (accepts || isProof(known.inboxes, listed)) break;
    } while (
      token !== null &&
      !pages.has(token) &&
      pages.size < MOST_AHEAD &&
      characters < MOST_AHEAD_CHARACTERS
    );
    const isComplete = token === null && [...pages.values()].every(hasAllIds);
    if (!accepts && isOther(marksOf(known, access), listed, isComplete)) {
      const error = otherAccount(known, { listed, address: access.address });
      const now = clock.now();
      this.#proven = null;
      const lasted = now - (known.refusedSince?.getTime() ?? now);
      const wait = Math.min(Math.max(lasted, SHORTEST_TEST_MS), LONGEST_TEST_MS);
      await mirror.refuseAccount(access, error.message, { now, until: now + wait });
      throw error;
    }
    await this.#record(access, known);
    return pages;
  }

  async #record(access: Access, known: KnownAccount): Promise<void> {
    if (!isProvenBy(known, access)) await this.#deps.mirror.proveAccount(access);
    this.#proven = accessId(access);
  }
}

/** True if this access was the last one that led to the mirror's account. */
function isProvenBy(known: KnownAccount, access: Access): boolean {
  return known.access === accessId(access);
}

/**
 * The inboxes by which {@link isOther} knows the mirror's account. If the address or the key has changed,
 * suspects and deleted inboxes do not count: they may be of an account that was replaced.
 */
export function marksOf(known: KnownAccount, access: Access): readonly KnownInbox[] {
  return isProvenBy(known, access) ? known.inboxes : expectedOf(known.inboxes);
}

function isLive({ deleted }: KnownInbox): boolean {
  return !deleted;
}

export function hasAllIds({ rejects }: Pick<Page, 'rejects'>): boolean {
  return rejects.every(({ id }) => id !== null);
}

export function inboxesOf({ items, rejects }: Pick<Page, 'items' | 'rejects'>): ListedInbox[] {
  return [
    ...items.map(({ id, columns }) => ({ id, email: columns['email'] as string | null })),
    ...rejects.flatMap(({ id }) => (id === null ? [] : { id, email: undefined })),
  ];
}

/** The live inboxes that the service should list: those that its last complete list had, if there are any. */
function expectedOf(known: readonly KnownInbox[]): readonly KnownInbox[] {
  const live = known.filter(isLive);
  const listedBefore = live.filter(({ suspect }) => !suspect);
  return listedBefore.length > 0 ? listedBefore : live;
}

/** Compares the mirror's inboxes with listed ones: by id, and by address where both sides have one. */
function compare(known: readonly KnownInbox[], listed: readonly ListedInbox[]) {
  const emails = new Map(listed.map(({ id, email }) => [id, email]));
  const expected = expectedOf(known);
  const present = expected.filter(({ id }) => emails.has(id));
  const same = present.filter(({ id, email }) => isSameAddress(email, emails.get(id))).length;
  const knownIds = new Set(known.map(({ id }) => id));
  const unknown = listed.filter(({ id }) => !knownIds.has(id)).length;
  return { expected: expected.length, same, moved: present.length - same, unknown };
}

function isSameAddress(stored: string | null, listed: string | null | undefined): boolean {
  if (stored === null || listed === null || listed === undefined) return true;
  return stored.trim().toLowerCase() === listed.trim().toLowerCase();
}

/** True if the listed inboxes prove the mirror's account, whatever the further pages hold. */
function isProof(known: readonly KnownInbox[], listed: readonly ListedInbox[]): boolean {
  const { expected, same } = compare(known, listed);
  return !isMost(expected - same, expected);
}

/** True for more than half of all, and for two or more that are exactly half. */
function isMost(part: number, all: number): boolean {
  return 2 * part > all || (2 * part === all && part >= 2);
}

/**
 * True if the listed inboxes are those of another account: most of the mirror's inboxes are gone or have
 * another address, and others came; as many others if it is exactly half. Without the complete list, none of
 * the mirror's inboxes may be in it.
 */
export function isOther(
  known: readonly KnownInbox[],
  listed: readonly ListedInbox[],
  isComplete: boolean,
): boolean {
  const { expected, same, moved, unknown } = compare(known, listed);
  const came = moved + unknown;
  if (expected === 0 || came === 0) return false;
  if (!isComplete) return same === 0;
  const missed = expected - same;
  return isMost(missed, expected) && (2 * missed > expected || came >= missed);
}

/** The error for an account that is not the mirror's. */
export function otherAccount(
  { inboxes, address }: Pick<KnownAccount, 'inboxes' | 'address'>,
  service: { readonly listed: readonly ListedInbox[]; readonly address: string },
): MirrorError {
  const from = address === null ? '' : `, read from ${address}`;
  const ours = inboxes.filter(isLive);
  return new MirrorError(
    'OTHER_ACCOUNT',
    `The service shows another account than this mirror's. The mirror has ${named(ours, service.listed)}` +
      `${from}. The service at ${service.address} lists ${named(service.listed, ours)}. ` +
      'Nothing was written. If INBOX_API_URL or the key is wrong, correct it. If this is another account, ' +
      `give it a mirror of its own: another DATABASE_URL. If ${reasonToAccept(inboxes, service.listed)}, ` +
      'run `inbox-mirror sync --accept-account` once.',
  );
}

/** When to accept the listed inboxes, as a clause. A company may have changed the domain of its addresses. */
function reasonToAccept(known: readonly KnownInbox[], listed: readonly ListedInbox[]): string {
  return compare(expectedOf(known), listed).unknown === 0
    ? 'the same inboxes have new addresses, which keeps their rows'
    : 'it shall replace the content of this mirror';
}

/** Names up to 3 inboxes of one side, first those that the other side does not have. */
function named(inboxes: readonly ListedInbox[], others: readonly ListedInbox[]): string {
  const shared = new Set(others.map(({ id }) => id));
  const first = inboxes.toSorted((a, b) => Number(shared.has(a.id)) - Number(shared.has(b.id)));
  const names = first.slice(0, NAMED).map(({ id, email }) => `${id} (${email ?? 'no address'})`);
  const more = inboxes.length > NAMED ? ', …' : '';
  return `${plural(inboxes.length, 'inbox')}: ${names.join(', ')}${more}`;
}

/** See `AccountCheck.showsInbox`; null if there is no answer: the next requests show why. */
export async function showsInbox(deps: SweepDeps, reason: Reason): Promise<boolean | null> {
  const options = { reason, signal: deps.signal, tries: 1, isProbe: true };
  return await deps.account.showsInbox(deps.client, options).catch(() => null);
}

/** The error for an account of which only inboxes by their ids are known, and these are not the mirror's. */
export function perhapsOtherAccount(): MirrorError {
  return new MirrorError(
    'OTHER_ACCOUNT',
    'The service does not answer the list of inboxes, and an inbox of this mirror has another address ' +
      'there: it may show another account. No other list was read. Run the command again ' +
      'later; if that list still fails, check INBOX_API_URL and the key.',
  );
}
