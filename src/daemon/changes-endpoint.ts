import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import { LIST_NAMES } from '../core/lists.ts';
import type { ChangeFilter, ChangeRecord } from '../store/change-feed.ts';
import { asNdjson } from './change-json.ts';

/** A connection that says nothing for longer is cut. */
const LONGEST_WAIT_S = 25;
const MOST_AT_ONCE = 10_000;
const POLL_MS = 500;

export interface ChangesEndpointOptions {
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly changes: (afterId: number, filter: ChangeFilter, limit: number) => Promise<ChangeRecord[]>;
}

const whole = (most: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,15}$/, `expected a whole number from 0 to ${most}`)
    .transform(Number)
    .refine((value) => value <= most, `expected a whole number from 0 to ${most}`);

const QUERY = z.strictObject({
  since_id: whole(Number.MAX_SAFE_INTEGER).optional(),
  limit: whole(MOST_AT_ONCE).optional(),
  wait: whole(LONGEST_WAIT_S).optional(),
  list: z.enum(LIST_NAMES).optional(),
  inbox_id: z.string().min(1).optional(),
  item_id: z.string().min(1).optional(),
  field: z.string().min(1).optional(),
});

/**
 * `GET /changes?since_id=`: the changes after that id, one JSON object a line (docs/http.md). Where there are none yet it waits for some, up to `wait`
 * seconds; nothing is an answer too.
 */
export function addChangesEndpoint(server: FastifyInstance, { clock, changes }: ChangesEndpointOptions): void {
  server.get('/changes', async (request, reply) => {
    const read = QUERY.safeParse(request.query);
    if (!read.success) {
      const faults = read.error.issues.map(({ path, message }) => [...path, message].join(': '));
      return await reply.code(400).send({ error: `This cannot be asked for: ${faults.join('; ')}.` });
    }
    const { since_id: sinceId = 0, limit = 1000, wait = 0, list, inbox_id: inboxId, item_id: itemId, field } = read.data;
    const gone = new AbortController();
    request.raw.once('close', () => gone.abort());
    const until = clock.monotonic() + wait * 1000;
    let found = await changes(sinceId, { list, inboxId, itemId, field }, limit);
    while (found.length === 0 && clock.monotonic() < until && !gone.signal.aborted) {
      await clock.sleep(Math.min(POLL_MS, until - clock.monotonic()), gone.signal).catch(() => undefined);
      found = await changes(sinceId, { list, inboxId, itemId, field }, limit);
    }
    return await reply
      .header('x-last-id', String(found.at(-1)?.id ?? sinceId))
      .type('application/x-ndjson; charset=utf-8')
      .send(asNdjson(found));
  });
}
