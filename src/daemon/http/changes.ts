import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { LIST_NAMES } from '../../core/lists.ts';
import type { ChangeFilter, ChangeRecord } from '../../mirror/history/read.ts';
import { asNdjson } from '../../mirror/mirror.ts';
import { within } from './shared-read.ts';

/** A connection that says nothing for longer is cut. */
const LONGEST_WAIT_S = 25;
const MOST_AT_ONCE = 10_000;
const POLL_MS = 500;

/** The other connections are for who asks how the daemon is. */
const MOST_WAITING = 50;

export interface ChangesEndpointOptions {
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly changes: (afterId: number, filter: ChangeFilter, limit: number) => Promise<ChangeRecord[]>;
  /** The id of the newest change; whoever waits asks again and again, so it is one read for all of them. */
  readonly newest: () => Promise<number>;
  /** Milliseconds of real time after which a database that has not answered is a 503. */
  readonly patienceMs: number;
}

const whole = (least: number, most: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,15}$/, `expected a whole number from ${least} to ${most}`)
    .transform(Number)
    .refine((value) => value >= least && value <= most, `expected a whole number from ${least} to ${most}`);

const QUERY = z.strictObject({
  since_id: whole(0, Number.MAX_SAFE_INTEGER).optional(),
  limit: whole(1, MOST_AT_ONCE).optional(),
  wait: whole(0, LONGEST_WAIT_S).optional(),
  list: z.enum(LIST_NAMES).optional(),
  inbox_id: z.string().min(1).optional(),
  item_id: z.string().min(1).optional(),
  field: z.string().min(1).optional(),
});

/**
 * `GET /changes?since_id=`: the changes after that id, one JSON object a line (docs/http.md). Where there are none yet it waits for some, up to `wait`
 * seconds; nothing is an answer too.
 */
export function addChangesEndpoint(
  server: FastifyInstance,
  { clock, changes, newest, patienceMs }: ChangesEndpointOptions,
): void {
  let waiting = 0;
  server.get('/changes', async (request, reply) => {
    const read = QUERY.safeParse(request.query);
    if (!read.success) {
      const faults = read.error.issues.map(({ path, message }) => [...path, message].join(': '));
      return await reply.code(400).send({ error: `This cannot be asked for: ${faults.join('; ')}.` });
    }
    const {
      since_id: sinceId = 0,
      limit = 1000,
      wait = 0,
      list,
      inbox_id: inboxId,
      item_id: itemId,
      field,
    } = read.data;
    const gone = new AbortController();
    request.raw.once('close', () => gone.abort());
    const after = (id: number): Promise<ChangeRecord[]> =>
      within(patienceMs, changes(id, { list, inboxId, itemId, field }, limit));
    const until = clock.monotonic() + wait * 1000;
    let seen = sinceId;
    let found = await after(seen);
    if (found.length === 0 && wait > 0 && waiting >= MOST_WAITING)
      return await reply
        .code(503)
        .header('retry-after', '5')
        .send({ error: `${MOST_WAITING} others wait already; ask again later.` });
    waiting += 1;
    try {
      while (found.length === 0 && clock.monotonic() < until) {
        await clock.sleep(Math.min(POLL_MS, until - clock.monotonic()), gone.signal).catch(() => undefined);
        if (gone.signal.aborted) break;
        const last = await newest();
        if (last <= seen) continue;
        found = await after(seen);
        // Those up to it were there before they were looked through: none was missed, none need be looked through again.
        seen = last;
      }
    } finally {
      waiting -= 1;
    }
    return await reply
      .header('x-last-id', String(found.at(-1)?.id ?? seen))
      .type('application/x-ndjson; charset=utf-8')
      .send(asNdjson(found));
  });
}
