import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { type Clock, SECOND } from '../../core/clock.ts';
import { changedFields } from '../../core/diff.ts';
import { LIST_NAMES } from '../../core/lists.ts';
import type { ChangeFilter } from '../../mirror/history/read.ts';
import type { NamedChange, Names } from '../../mirror/items/names.ts';
import { asNdjson, type Cursor, cursorAfter, cursorText, readCursor } from '../../mirror/mirror.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { TokenGuard } from './token.ts';

/** The greatest `wait`, in seconds. The server cuts a connection that is silent for 30 s. */
const MAX_WAIT_S = 25;

/** The greatest `limit`: changes in one answer. */
const MAX_LIMIT = 10_000;

/** A waiting request checks for a new change after this many ms. */
const POLL_MS = 500;

/** At most this many requests wait for a change at a time. */
const MAX_WAITING = 50;

export interface ChangesEndpointOptions {
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly changes: (after: Cursor, filter: ChangeFilter, limit: number) => Promise<NamedChange[]>;
  /** Sentences about values of the filter that the mirror has never had. */
  readonly unknown: (filter: ChangeFilter) => Promise<string[]>;
  /** The place after the newest change. All waiting clients share its reads. */
  readonly newest: () => Promise<Cursor>;
  /** If the database does not answer within this many ms of real time, the answer is a 503. */
  readonly patienceMs: number;
  readonly tokens: TokenGuard;
}

/** A parameter; one that is given several times arrives as an array. */
const parameter = z.string('expected one value');

const idText = parameter.min(1, 'expected an id');

const whole = (least: number, most: number): z.ZodType<number, string> =>
  parameter
    .regex(/^\d{1,15}$/, `expected a whole number from ${least} to ${most}`)
    .transform(Number)
    .refine((value) => value >= least && value <= most, `expected a whole number from ${least} to ${most}`);

const BEGINNING: Cursor = { id: 0, epoch: null };

const cursor = parameter.transform((text, { issues }): Cursor => {
  const read = readCursor(text);
  if (read !== null) return read;
  issues.push({ code: 'custom', message: 'expected the id or the cursor of a change, or 0', input: text });
  return BEGINNING;
});

const QUERY = z.strictObject({
  since_id: cursor.optional(),
  limit: whole(1, MAX_LIMIT).optional(),
  wait: whole(0, MAX_WAIT_S).optional(),
  list: parameter
    .pipe(z.enum(LIST_NAMES, `there is no such list; the lists are: ${LIST_NAMES.join(', ')}`))
    .optional(),
  inbox_id: idText.optional(),
  item_id: idText.optional(),
  field: parameter
    .pipe(z.enum(changedFields(), `there is no such field; the fields are: ${changedFields().join(', ')}`))
    .optional(),
});

/**
 * Adds `GET /changes?since_id=`: the changes after that place, one JSON object a line (docs/http.md). If
 * there are none, the request waits for up to `wait` seconds; the answer may be empty.
 */
export function addChangesEndpoint(
  server: FastifyInstance,
  { clock, changes, unknown, newest, patienceMs, tokens }: ChangesEndpointOptions,
): void {
  let waiting = 0;
  const reads = oneAtATime(patienceMs);
  server.get('/changes', { onRequest: tokens.demand }, async (request, reply) => {
    const read = QUERY.safeParse(request.query);
    if (!read.success) {
      const faults = read.error.issues.map(({ path, message }) => [...path, message].join(': '));
      return await refuse(reply, faults);
    }
    const {
      since_id: since = BEGINNING,
      limit = 1000,
      wait = 0,
      list,
      inbox_id: inboxId,
      item_id: itemId,
      field,
    } = read.data;
    const filter = { list, inboxId, itemId, field };
    const closed = new AbortController();
    request.raw.once('close', () => closed.abort());
    const after = (place: Cursor): Promise<NamedChange[]> =>
      reads.next(closed.signal, () => changes(place, filter, limit));
    const faults = await reads.next(closed.signal, () => unknown(filter));
    if (faults.length > 0) return await refuse(reply, faults);
    const until = clock.monotonic() + wait * SECOND;
    let seen = since;
    let found = await after(seen);
    if (found.length === 0 && wait > 0 && waiting >= MAX_WAITING)
      return await reply
        .code(503)
        .header('retry-after', '5')
        .send({ error: `${MAX_WAITING} clients wait already; retry later.` });
    waiting += 1;
    try {
      while (found.length === 0 && clock.monotonic() < until) {
        await clock.sleep(Math.min(POLL_MS, until - clock.monotonic()), closed.signal).catch(() => undefined);
        if (closed.signal.aborted) break;
        const last = await newest();
        // A smaller id, or another epoch, may be of a restored backup: the query refuses the place then.
        if (last.id === seen.id && last.epoch === (seen.epoch ?? last.epoch)) continue;
        found = await after(seen);
        // The query ran after this place was read, so it missed no change up to it.
        if (last.id > seen.id) seen = last;
      }
    } finally {
      waiting -= 1;
    }
    const reached = cursorAfter(found) ?? seen;
    return await reply
      .header('x-last-id', String(reached.id))
      .header('x-cursor', cursorText(reached))
      .type('application/x-ndjson; charset=utf-8')
      .send(asNdjson(found));
  });
}

async function refuse(reply: FastifyReply, faults: readonly string[]): Promise<void> {
  await reply.code(400).send({ error: `Invalid query: ${faults.join('; ')}.` });
}

/** At most this many inboxes are named in an answer. */
const MOST_NAMED = 10;

/** A sentence for each id of the filter that the mirror has never had: its answer would always be empty. */
export async function unknownParts(
  names: Pick<Names, 'inboxes' | 'hasItem'>,
  { inboxId, itemId }: ChangeFilter,
): Promise<string[]> {
  const faults: string[] = [];
  const inboxes = inboxId === undefined ? [] : await names.inboxes();
  if (inboxId !== undefined && !inboxes.some(({ id }) => id === inboxId)) {
    const known = inboxes.slice(0, MOST_NAMED).map(({ id, name }) => `${id} (${name ?? 'no name'})`);
    const rest = inboxes.length > MOST_NAMED ? ', …' : '';
    faults.push(`inbox_id: the mirror has no inbox ${inboxId}; it has ${known.join(', ') || 'none'}${rest}`);
  }
  if (itemId !== undefined && !(await names.hasItem(itemId)))
    faults.push(`item_id: the mirror has no conversation, tag, user or inbox ${itemId}`);
  return faults;
}
