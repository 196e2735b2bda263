import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { MOST_SHOWN, readAfter } from '../../query/figures/changes.ts';
import type { Desk } from '../frame/desk.ts';
import { html } from '../frame/html.ts';
import { queryOf } from '../frame/links.ts';
import { filterOf, idOf } from './page.ts';
import { feedRow } from './rows.ts';

/** A live page checks for new changes after this many ms. All live pages share one read. */
const POLL_MS = SECOND;

/** The shared id may be older than the page at 2 checks in a row. At the third, a backup was restored. */
const SURELY_AHEAD = 3;

/** A line without meaning is sent after this many ms, because the server cuts a silent connection. */
const HEARTBEAT_MS = 10 * SECOND;

/** After this many ms the browser connects again, so that a page cannot outlive its session for long. */
const LONGEST_MS = 10 * MINUTE;

/** At most this many live pages at a time: each takes one of the requests in progress. */
const MOST_LIVE = 20;

export interface LiveOptions {
  readonly desk: Desk;
  readonly clock: Pick<Clock, 'now'>;
  readonly timezone: string;
  /** The place after the newest change. Its readers share one read a second. */
  readonly newest: () => Promise<{ readonly id: number }>;
}

/** Adds `GET /feed/live?after=`: new rows of the feed as events, in the form of the browsers' EventSource. */
export function addLiveFeed(inside: FastifyInstance, options: LiveOptions): void {
  let live = 0;
  inside.get('/feed/live', async (request, reply) => {
    if (live >= MOST_LIVE)
      return await reply
        .code(503)
        .header('retry-after', '60')
        .send({ error: `${MOST_LIVE} pages are live already; reload the page for new changes.` });
    const closed = new AbortController();
    live += 1;
    request.raw.once('close', () => {
      live -= 1;
      closed.abort();
    });
    const query = queryOf(request);
    // After a break the browser says which event it has seen last.
    const last = request.headers['last-event-id'];
    const after = idOf(typeof last === 'string' ? last : query.get('after')) ?? (await options.newest()).id;
    reply.type('text/event-stream; charset=utf-8');
    return await reply.send(Readable.from(events(query, after, closed.signal, options)));
  });
}

async function* events(
  query: URLSearchParams,
  after: number,
  closed: AbortSignal,
  { desk, clock, timezone, newest }: LiveOptions,
): AsyncGenerator<string> {
  const filter = filterOf(query);
  const end = performance.now() + LONGEST_MS;
  let silentSince = performance.now();
  let seen = after;
  let ahead = 0;
  yield 'retry: 2000\n\n';
  while (!closed.aborted && performance.now() < end) {
    const last = await newest();
    ahead = last.id < seen ? ahead + 1 : 0;
    if (ahead === SURELY_AHEAD) {
      // A restored backup: the page shows changes that this history does not have.
      yield 'event: restored\ndata: read the page again\n\n';
      return;
    }
    if (last.id > seen) {
      // Readers share the newest id and the rows for a second each. Rows of exactly this span agree with it.
      const span = { after: seen, upTo: last.id };
      const key = `live ${JSON.stringify([filter, span])}`;
      const changes = await desk.quick(key, (read) => readAfter(read, filter, span));
      // A full answer may have left out changes up to the newest one.
      seen = changes.length === MOST_SHOWN ? (changes.at(-1)?.id ?? seen) : last.id;
      if (changes.length > 0) {
        const moment = { now: clock.now(), timezone };
        const rows = html`${changes.toReversed().map((change) => feedRow(change, moment))}`;
        yield `id: ${seen}\nevent: changes\ndata: ${String(rows).replaceAll(/[\r\n]+/g, ' ')}\n\n`;
        silentSince = performance.now();
        continue;
      }
    }
    if (performance.now() - silentSince >= HEARTBEAT_MS) {
      yield ':\n\n';
      silentSince = performance.now();
    }
    await sleep(POLL_MS, undefined, { signal: closed }).catch(() => undefined);
  }
}
