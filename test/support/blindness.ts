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

/** Faults of the answers of one service: blind times, and rows that slip from a page. */
export class Blindness {
  #time: BlindTime | null = null;
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

  heal(): void {
    this.#time = null;
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
        return isBlind && ITEM.test(path) ? { ...answer, status: 404, body: NOT_FOUND } : answer;
      },
    };
  }

  #isBlindNow(): boolean {
    if (this.#time === null) return false;
    this.#requests += 1;
    const isLater = this.#requests > this.#time.requests;
    return this.#time.edge === 'begins' ? isLater : !isLater;
  }
}
