import { unlessAborted } from '../../core/abortable.ts';
import { type Clock, HOUR, MINUTE } from '../../core/clock.ts';
import { isMirrorError, type MirrorError, reachOf } from '../../core/errors.ts';
import { INBOXES } from '../../core/lists.ts';
import { type Access, accessId } from '../../core/secrets.ts';
import type { KnownAccount } from '../../mirror/gate/account.ts';
import type { Writer } from '../../mirror/mirror.ts';
import type { CallOptions, Client, Page } from '../../service/client.ts';
import { askById, type InboxesShown } from './by-id.ts';
import {
  hasAllIds,
  inboxesOf,
  isCertain,
  isLive,
  isOther,
  isProof,
  type ListedInbox,
  mayBeOurs,
  otherAccount,
  readingOf,
  showsAny,
  showsReplaced,
} from './marks.ts';

/** The pages of a list by the token that leads to them; null leads to the first. */
export type PagesByToken = ReadonlyMap<string | null, Page>;

/**
 * Milliseconds until the daemon tests the service again after it showed another account, at least and at
 * most. In between it waits for as long as the other account has shown: the first answer may be a wrong one.
 */
const SHORTEST_TEST_MS = 5 * MINUTE;
export const LONGEST_TEST_MS = HOUR;

/**
 * After two refusals or wrong answers in a row, a test is repeated after this many ms: else each list of a
 * pass would repeat it.
 */
const FAILED_TEST_MS = MINUTE;

/** At most this many pages of inboxes are read before the first one is applied. */
const MOST_AHEAD = 50;

/** No further page is read ahead once the rows of those in memory have this many characters. */
const MOST_AHEAD_CHARACTERS = 32 * 1024 * 1024;

/** A list of inboxes, as far as it was read. */
interface InboxesRead extends InboxesShown {
  /** True if it has rows without an id, which may be inboxes of the mirror. */
  readonly lacksIds: boolean;
  readonly access: Access;
}

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
  readonly #deps: AccountDeps;
  /** The access that has last led to the mirror's account; null before the first look at the mirror. */
  #proven: string | null = null;
  #test: Promise<unknown> | null = null;
  /** Why the last test of an access failed, until a time of the monotonic clock. */
  #failed: { readonly access: string; readonly error: unknown; readonly until: number } | null = null;

  constructor(deps: AccountDeps) {
    this.#deps = deps;
  }

  /** The mirror's record of its account. */
  async known(): Promise<KnownAccount> {
    return await this.#deps.mirror.account();
  }

  /** The id of the access in use. */
  accessId(): string {
    return accessId(this.#deps.access());
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
      const known = await this.known();
      if (isCertain(known, access)) this.#proven = accessId(access);
      else if (!known.inboxes.some(isLive)) await this.#record(access, known);
      else {
        const { clock } = this.#deps;
        const failed = this.#failed;
        if (failed?.access === accessId(access) && clock.monotonic() < failed.until) throw failed.error;
        // Lists that are swept side by side share the request, which may test an earlier access than theirs.
        this.#test ??= this.#testAccess(client, options).finally(() => (this.#test = null));
        await unlessAborted(this.#test, signal);
      }
    }
  }

  async #testAccess(client: Client, options: CallOptions): Promise<void> {
    const access = this.accessId();
    try {
      await this.readInboxes(client, options, false);
      this.#failed = null;
    } catch (error) {
      const waitMs = this.#failed?.access === access ? FAILED_TEST_MS : 0;
      const until = this.#deps.clock.monotonic() + waitMs;
      // If the access has changed meanwhile, the error may be of another one.
      const isOfAccess = this.accessId() === access;
      if (isOfAccess && reachOf(error) === 'list') this.#failed = { access, error, until };
      throw error;
    }
  }

  /**
   * Sends a request to the mirror's account: proves the access before the request, and again if it has
   * changed when the answer is there. A request may wait for long, and takes the key in use when it leaves.
   * If the access has changed once more meanwhile, the answer may be another account's: it is sent again.
   * @throws MirrorError `OTHER_ACCOUNT`, or the error of the request
   */
  async sendProven<Answer>(
    client: Client,
    options: CallOptions,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    for (;;) {
      const before = this.accessId();
      await this.prove(client, options);
      const [answer] = await Promise.allSettled([send()]);
      const after = this.accessId();
      if (after !== before) await this.prove(client, options);
      if (after !== before && this.#proven !== after) continue;
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
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
    const access = this.#deps.access();
    const known = await this.known();
    const knownInbox = known.inboxes.find(isLive)?.id;
    const reading = readingOf(known, access, this.#deps.clock.now());
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
      if (this.accessId() !== accessId(access)) return await this.readInboxes(client, options, false);
      if (page === null) break;
      pages.set(token, page);
      listed.push(...inboxesOf(page));
      token = page.next;
      for (const { raw } of [...page.items, ...page.rejects]) characters += raw.length;
      if (accepts || isProof(known.inboxes, listed, reading)) break;
    } while (
      token !== null &&
      !pages.has(token) &&
      pages.size < MOST_AHEAD &&
      characters < MOST_AHEAD_CHARACTERS
    );
    const lacksIds = ![...pages.values()].every(hasAllIds);
    const isComplete = token === null && !lacksIds;
    const other = accepts
      ? null
      : await this.#otherShown(client, options, known, { listed, isComplete, lacksIds, access });
    if (this.accessId() !== accessId(access)) return await this.readInboxes(client, options, false);
    if (other !== null) throw await this.#refuse(access, known, other);
    await this.#record(access, known, accepts ? listed : null);
    return pages;
  }

  /**
   * The error that names another account, if the listed inboxes or questions about those of the mirror
   * show one, or if a new access or a list without ids shows too few of the mirror's. Two accounts may
   * share single inboxes, also one of the mirror's and one that a consent has replaced.
   * @throws MirrorError the error of a request
   */
  async #otherShown(
    client: Client,
    options: CallOptions,
    known: KnownAccount,
    { listed, isComplete, lacksIds, access }: InboxesRead,
  ): Promise<MirrorError | null> {
    const shown = (inboxes: readonly ListedInbox[]): MirrorError =>
      otherAccount(known, { listed: inboxes, address: access.address });
    const reading = readingOf(known, access, this.#deps.clock.now());
    const isOtherList = isOther(known.inboxes, listed, { isComplete, ...reading });
    if (isOtherList && !mayBeOurs(known.inboxes, listed, { ...reading, lacksIds })) return shown(listed);
    if (isProof(known.inboxes, listed, reading)) return null;
    const isReplaced = showsReplaced(known.inboxes, listed);
    if (isCertain(known, access) && !isReplaced && !isOtherList) return null;
    const showsOne = showsAny(known.inboxes, listed, reading) && !isReplaced;
    const { strangers, showsOurs } = await askById(client, options, known.inboxes, {
      listed,
      isComplete,
      showsOne,
      isOtherList,
    });
    if (strangers.length > 0) return shown(strangers);
    return showsOurs || showsOne ? null : shown(listed);
  }

  /** Records that the service shows another account. @returns the error that says so */
  async #refuse(access: Access, known: KnownAccount, error: MirrorError): Promise<MirrorError> {
    const { mirror, clock } = this.#deps;
    const now = clock.now();
    this.#proven = null;
    const lasted = now - (known.refusedSince?.getTime() ?? now);
    const wait = Math.min(Math.max(lasted, SHORTEST_TEST_MS), LONGEST_TEST_MS);
    await mirror.refuseAccount(access, error.message, { now, until: now + wait });
    return error;
  }

  /** @param accepted the inboxes on the first page of a consent's list; null without a consent */
  async #record(
    access: Access,
    known: KnownAccount,
    accepted: readonly ListedInbox[] | null = null,
  ): Promise<void> {
    const ids = accepted?.map(({ id }) => id) ?? null;
    if (ids !== null || !isCertain(known, access)) await this.#deps.mirror.proveAccount(access, ids);
    this.#proven = accessId(access);
  }
}
