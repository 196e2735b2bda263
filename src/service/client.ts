import { unlessAborted } from '../core/abortable.ts';
import { isMirrorError, MirrorError } from '../core/errors.ts';
import type { Reason } from '../core/ledger.ts';
import { type Item, type ListKey, type ListName, SEARCHED_BY } from '../core/lists.ts';
import { Address, type AddressOptions } from './address.ts';
import { type ListAnswer, type PageRequest, readBody, readList, readObject } from './envelope.ts';
import type { Call, CallOutcome } from './gate/calls.ts';
import type { Gate } from './gate/gate.ts';
import { type Answer, type Http, serviceTime } from './http.ts';
import { inboxPath, KEY_PATH, listPath } from './paths.ts';
import { inContext, refusal, unreadable } from './refusal.ts';
import { type ReadRows, readRows } from './resources.ts';

/** One parsed page of a list. */
export interface Page extends ReadRows {
  /** The token of the next page; null on the last. */
  readonly next: string | null;
  /** The ledger id of the request that fetched the page, and the number of requests sent for it. */
  readonly requestId: number;
  readonly requests: number;
}

/** The answer for one item; null if the service does not know it. */
export type Found = { readonly item: Item } | null;

/** A list that the service can search. */
interface SearchableList extends ListKey {
  readonly list: 'users' | 'tags';
  readonly inboxId: string;
}

/** The answer to a test of address and key: the first inboxes. */
export interface Ping {
  readonly rows: ReadRows;
  /** True if `rows` are certainly all inboxes. */
  readonly isWhole: boolean;
  readonly serviceTime: Date | null;
}

/** Why a request is sent, and the signal that cancels it while it waits at the gate. */
export interface CallOptions extends Pick<Call, 'tries' | 'isServiceTest' | 'scheduled'> {
  readonly reason: Reason;
  readonly signal?: AbortSignal | undefined;
  /** The id of an inbox to request if the list of inboxes fails (see `Exchange.elsewhere`). */
  readonly knownInbox?: string | undefined;
}

/** The service's read operations (spec §4.3, docs/service.md). Every request passes the gate. */
export interface Client {
  /** How many rows a page is asked for: 10 to 100 (spec §4.2). */
  readonly pageSize: number;
  /**
   * Fetches one page of any list; `token` is null for the first page. A full first page that does not say
   * whether it is the last is fetched once more in another size.
   * @throws MirrorError `TOKEN_REFUSED` if the service refuses the token
   */
  listPage(list: ListKey, token: string | null, options: CallOptions): Promise<Page>;
  getInbox(inboxId: string, options: CallOptions): Promise<Found>;
  getConversation(inboxId: string, conversationId: string, options: CallOptions): Promise<Found>;
  /**
   * Searches the users of an inbox by e-mail address, or its tags by name (spec §4.3, operations 4 and 6).
   * The specification does not define whether a part of a tag's name matches.
   * `complete` is false if the search has further pages or a row that cannot be read.
   */
  search(
    list: SearchableList,
    by: string,
    options: CallOptions,
  ): Promise<{ items: Item[]; complete: boolean }>;
  /**
   * Checks address and key with exactly one request, for a page of the smallest size.
   * `serviceTime` is the service's clock, or null if the answer has no valid date.
   */
  ping(options: CallOptions): Promise<Ping>;
  /** See `Gate.throwIfShut`. */
  throwIfShut(): Promise<void>;
}

export interface ClientOptions extends Pick<Client, 'pageSize'> {
  readonly http: Http;
  readonly gate: Gate;
  readonly storePublicPermalink: boolean;
  /** Without it, each failure is an outage. */
  readonly address?: AddressOptions;
}

/** The first page of a search, which takes no limit, and of a ping: the default size (spec §4.2). */
const SMALLEST_PAGE: PageRequest = { limit: 10, isFirst: true };
/** The most rows of a page (spec §4.2). */
const LARGEST_LIMIT = 100;

interface Request {
  readonly path: string;
  readonly query?: Record<string, string>;
  readonly list: ListName;
  readonly inboxId: string | null;
}

type RowReader = (rows: readonly unknown[]) => ReadRows;
/** Reads the body of an answer, with a function that reads its rows. */
type Parse<Result> = (body: unknown, rowsOf: RowReader) => { result: Result; items: number };

export function createClient(options: ClientOptions): Client {
  return new HttpClient(options);
}

class HttpClient implements Client {
  readonly pageSize: number;
  readonly #options: ClientOptions;
  readonly #address: Address | null;
  #serviceTest: Promise<unknown> | null = null;
  #elsewhere: Promise<void> | null = null;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.pageSize = options.pageSize;
    this.#address = options.address === undefined ? null : new Address(options.address);
  }

  async listPage(key: ListKey, token: string | null, options: CallOptions): Promise<Page> {
    const { pageSize } = this;
    const { next, ...page } = await this.#page(key, { token, limit: pageSize }, options);
    if (next !== undefined) return { ...page, next };
    // These may be all rows. One row more or fewer on a page tells.
    const limit = pageSize < LARGEST_LIMIT ? pageSize + 1 : pageSize - 1;
    const { next: second, ...other } = await this.#page(key, { token, limit }, options);
    if (second === undefined)
      throw new MirrorError(
        'BAD_ANSWER',
        `GET ${listPath(key)}: expected pagination.next_page to be a token or null, but full pages of two ` +
          'sizes have none.',
      );
    return { ...other, next: second, requests: page.requests + other.requests };
  }

  async #page(
    key: ListKey,
    { token, limit }: { token: string | null; limit: number },
    options: CallOptions,
  ): Promise<Omit<Page, 'next'> & Pick<ListAnswer, 'next'>> {
    const { list, inboxId } = key;
    const query = { limit: String(limit), ...(token === null ? {} : { next_page: token }) };
    const request = { path: listPath(key), query, list, inboxId };
    const { outcome, asError } = await this.#send(request, options, (body, rowsOf) => {
      const { rows, next } = readList(body, { limit, isFirst: token === null });
      return { result: { ...rowsOf(rows), next }, items: rows.length };
    });
    if (outcome.ok) return { ...outcome.result, requestId: outcome.requestId, requests: outcome.requests };
    const error = asError();
    const tokenRefused = token !== null && outcome.answer.status >= 400 && error.code !== 'LIST_FORBIDDEN';
    throw tokenRefused
      ? new MirrorError('TOKEN_REFUSED', error.message, { status: error.status, cause: error })
      : error;
  }

  async getInbox(inboxId: string, options: CallOptions): Promise<Found> {
    return await this.#getOne({ path: inboxPath(inboxId), list: 'inboxes', inboxId: null }, options);
  }

  async getConversation(inboxId: string, conversationId: string, options: CallOptions): Promise<Found> {
    const path = `${inboxPath(inboxId)}/conversations/${encodeURIComponent(conversationId)}`;
    return await this.#getOne({ path, list: 'conversations', inboxId }, options);
  }

  async search({ list, inboxId }: SearchableList, by: string, options: CallOptions) {
    const path = `${inboxPath(inboxId)}/${list}/search`;
    const request = { path, query: { [SEARCHED_BY[list]]: by }, list, inboxId };
    const { outcome, asError } = await this.#send(request, options, (body, rowsOf) => {
      const { rows, next } = readList(body, SMALLEST_PAGE);
      const { items, rejects } = rowsOf(rows);
      // An empty page is the last one, whatever it says.
      const complete = (next === null || rows.length === 0) && rejects.length === 0;
      return { result: { items, complete }, items: rows.length };
    });
    if (outcome.ok) return outcome.result;
    throw asError();
  }

  async throwIfShut(): Promise<void> {
    await this.#options.gate.throwIfShut();
  }

  async ping(options: CallOptions): Promise<Ping> {
    const { outcome, asError } = await this.#requestInboxes({ ...options, tries: 1 });
    if (!outcome.ok) throw asError();
    return { ...outcome.result, serviceTime: serviceTime(outcome.answer) };
  }

  /** Requests the smallest page of the inboxes, which every valid key may read. */
  async #requestInboxes(options: CallOptions) {
    const query = { limit: String(SMALLEST_PAGE.limit) };
    const request = { path: KEY_PATH, query, list: 'inboxes', inboxId: null } as const;
    return await this.#send(request, options, (body, rowsOf) => {
      const { rows, next } = readList(body, SMALLEST_PAGE);
      return { result: { rows: rowsOf(rows), isWhole: next === null }, items: rows.length };
    });
  }

  /**
   * Tests key and service after a path was refused or failed. Requests that wait together share a test.
   * @throws MirrorError `KEY_REFUSED`, or another error of the gate if there is no answer
   */
  async #testService({ signal, ...options }: CallOptions): Promise<void> {
    this.#serviceTest ??= this.#requestInboxes(options).finally(() => (this.#serviceTest = null));
    await unlessAborted(this.#serviceTest, signal);
  }

  /**
   * Requests the list of inboxes after `path` failed, and if that list fails too, one inbox by its id. Lists
   * that fail together share these requests.
   * @throws MirrorError the last error of the gate
   */
  async #askElsewhere(path: string, inboxId: string | null, { signal, ...once }: CallOptions): Promise<void> {
    // Not shared: if a test of the service failed here, the shared requests may be waiting for that test.
    if (path === KEY_PATH) return await unlessAborted(this.#requestInbox(inboxId, once), signal);
    this.#elsewhere ??= this.#testService(once)
      .catch(async (error: unknown) => {
        if (!isMirrorError(error, 'SERVICE_DOWN', 'ANSWER_FAILED')) throw error;
        await this.#requestInbox(inboxId, once);
      })
      .finally(() => (this.#elsewhere = null));
    await unlessAborted(this.#elsewhere, signal);
  }

  /** Requests an inbox, if its id is known. Whatever it answers, the service is up. */
  async #requestInbox(inboxId: string | null, options: CallOptions): Promise<void> {
    if (inboxId === null) return;
    const request = { path: inboxPath(inboxId), list: 'inboxes', inboxId: null } as const;
    await this.#request(request, options, () => ({ result: null, items: 0 }));
  }

  /** Sends a request. After a 403 for a list, a test says whether the key is valid. */
  async #send<Result>(request: Request, options: CallOptions, parse: Parse<Result>) {
    const { path, inboxId } = request;
    const outcome = await this.#request(request, options, parse);
    if (!outcome.ok && outcome.answer.status === 403)
      await this.#testService({ ...options, knownInbox: inboxId ?? undefined });
    const asError = (): MirrorError =>
      this.#address?.refusal(outcome.answer, path) ?? refusal(path, outcome.answer);
    return { outcome, asError };
  }

  async #request<Result>(
    { path, query = {}, list, inboxId }: Request,
    { reason, signal, knownInbox, ...others }: CallOptions,
    parse: Parse<Result>,
  ): Promise<CallOutcome<Result>> {
    const { http, gate, storePublicPermalink } = this.#options;
    const once = { reason, signal, ...others, tries: 1, isServiceTest: true };
    return await gate.request(
      { entry: { method: 'GET', path, list, inboxId, reason }, signal, ...others },
      {
        send: () => http.get(path, query).catch((error: unknown) => this.#judge(error, path)),
        read: (answer) => {
          const rowsOf: RowReader = (rows) =>
            readRows(list, rows, { storePublicPermalink, mark: answer.mark });
          return this.#read2xx(path, answer, (body) => parse(body, rowsOf));
        },
        forbids: path === KEY_PATH ? 'key' : 'list',
        elsewhere: () => this.#askElsewhere(path, knownInbox ?? inboxId, once),
      },
    );
  }

  /** @throws the error, or `CONFIG` if the address may be wrong */
  async #judge(error: unknown, path: string): Promise<never> {
    throw this.#address === null ? error : await this.#address.judge(error, path);
  }

  #read2xx<Result>(path: string, answer: Answer, parse: (body: unknown) => Result): Result {
    const address = this.#address;
    let body: unknown;
    try {
      body = inContext(path, answer, () => readBody(answer.body));
    } catch (error) {
      throw address === null ? error : address.judgeAnswer(error, path, answer);
    }
    const result = inContext(path, answer, () => parse(body));
    address?.answered();
    return result;
  }

  async #getOne(request: Request, options: CallOptions): Promise<Found> {
    const { outcome, asError } = await this.#send(request, options, (body, rowsOf) => ({
      result: oneOf(rowsOf([readObject(body)])),
      items: 1,
    }));
    if (outcome.ok) return { item: outcome.result };
    if (outcome.answer.status === 404) return null;
    throw asError();
  }
}

/** @throws MirrorError `BAD_ANSWER` if the row is a reject */
function oneOf({ items, rejects }: ReadRows): Item {
  const [item] = items;
  if (item === undefined) throw unreadable(rejects);
  return item;
}
