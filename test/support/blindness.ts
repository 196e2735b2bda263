import type { Http } from '../../src/service/http.ts';
import { tampered } from './rows.ts';

const ITEM = /^\/inboxes\/[^/]+(\/conversations\/[^/]+)?$/;
const NOT_FOUND = '{"errors":[{"message":"not found"}]}';

/** A time in which a service knows no inbox and no conversation by its id. */
export interface BlindTime {
  /** `begins`: after `requests` requests, until it is healed. `ends`: it has begun, and ends after them. */
  readonly edge: 'begins' | 'ends';
  readonly requests: number;
  /** True if the lists of conversations are empty meanwhile. */
  readonly isEmpty: boolean;
}

/** Some conversations, whose questions by id get an answer that decides nothing. */
export interface Obscured {
  readonly answer: keyof typeof DECIDES_NOTHING;
  /** One in so many conversations, by their ids. */
  readonly oneIn: number;
}

export const DECIDES_NOTHING = {
  '403': { status: 403, body: '{"errors":[{"message":"no access"}]}' },
  '400': { status: 400, body: '{"errors":[{"message":"not now"}]}' },
  unreadable: { status: 200, body: '{"data":{}}' },
  other: { status: 200, body: '{"data":{"id":"1","status":"open","assignee":null,"tag_ids":[]}}' },
};

/** Faults of the answers of one service: blind times, obscured rows, and rows that slip from a page. */
export class Blindness {
  #time: BlindTime | null = null;
  #obscured: Obscured | null = null;
  #requests = 0;
  readonly #slips: number[] = [];

  begin(time: BlindTime): void {
    this.#time = time;
    this.#requests = 0;
  }

  /** The next page of conversations with rows lacks one of them. */
  slip(row: number): void {
    this.#slips.push(row);
  }

  obscure(some: Obscured): void {
    this.#obscured = some;
  }

  heal(): void {
    this.#time = null;
    this.#obscured = null;
    this.#slips.length = 0;
  }

  wrap(http: Http): Http {
    const emptied = tampered((page, path) => {
      if (path.endsWith('/conversations'))
        Object.assign(page, { results: [], pagination: { next_page: null } });
    })(http);
    const slipped = tampered((page, path) => {
      if (!path.endsWith('/conversations') || page.results.length === 0) return;
      const row = this.#slips.pop();
      if (row !== undefined) page.results.splice(row % page.results.length, 1);
    })(http);
    return {
      close: http.close,
      get: async (path, query) => {
        const isBlind = this.#isBlindNow();
        const answer = await (isBlind && this.#time?.isEmpty ? emptied : slipped).get(path, query);
        if (isBlind && ITEM.test(path)) return { ...answer, status: 404, body: NOT_FOUND };
        return this.#hides(path) ? { ...answer, ...DECIDES_NOTHING[this.#obscured!.answer] } : answer;
      },
    };
  }

  #hides(path: string): boolean {
    const id = /\/conversations\/(\d+)$/.exec(path)?.[1];
    return this.#obscured !== null && id !== undefined && Number(id.slice(-6)) % this.#obscured.oneIn === 0;
  }

  #isBlindNow(): boolean {
    if (this.#time === null) return false;
    this.#requests += 1;
    const isLater = this.#requests > this.#time.requests;
    return this.#time.edge === 'begins' ? isLater : !isLater;
  }
}
