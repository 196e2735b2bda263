import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createMetrics } from '../../../src/daemon/http/metrics.ts';
import { deliverChanges } from '../../../src/daemon/webhook/deliver.ts';
import type { Post } from '../../../src/daemon/webhook/send.ts';
import { postByHttp } from '../../../src/daemon/webhook/post.ts';
import type { Feed } from '../../../src/mirror/history/feed.ts';
import { targetOf } from '../../../src/mirror/history/deliveries.ts';
import { openMirror } from '../../../src/mirror/mirror.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import { statusAsJson } from '../../../src/status/json.ts';
import { readDetails, readJudgedStatus } from '../../../src/status/observe.ts';
import { LOCALHOST } from '../../support/certificates.ts';
import { testLog } from '../../support/log.ts';
import type { TestMirror } from '../../support/mirror.ts';
import { backUp, restore } from '../../support/restore.ts';
import { firstIds, nthInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes long').toString('base64')}`;

/** A target that has accepted no change yet. */
const BEGUN = { lastId: 0, failures: 0, retryAt: null, cause: null, setAside: 0, setAsideId: null };

interface Taken {
  readonly id: string;
  readonly changes: number[];
}

/** A receiver that checks each signature and answers with what `answer` returns. */
async function receiver(
  answer: (nth: number, ids: number[]) => { status: number; retryAfter?: string } | 'reset' = () => ({
    status: 204,
  }),
) {
  const taken: Taken[] = [];
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const { data } = JSON.parse(body) as { data: { changes: { id: number }[] } };
      const ids = data.changes.map((change) => change.id);
      const outcome = answer(asked.push(String(request.headers['webhook-id'])), ids);
      if (outcome === 'reset') return request.socket.destroy();
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      // The timestamp is of the test clock, so the check is that the signature covers id, time and body.
      const [id, time] = [headers['webhook-id']!, headers['webhook-timestamp']!];
      expect(headers['webhook-signature']).toBe(
        new Webhook(SECRET).sign(id, new Date(Number(time) * 1000), body),
      );
      if (outcome.status < 300) taken.push({ id, changes: ids });
      return response
        .writeHead(
          outcome.status,
          outcome.retryAfter === undefined ? {} : { 'retry-after': outcome.retryAfter },
        )
        .end();
    })();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/hook?token=t0p`, taken, asked };
}

/** The URL of a server whose answers `answer` writes. */
async function answering(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

/** The URL of a listener that never answers. It calls `onAsked` once a request arrives. */
async function silentListener(onAsked: () => void): Promise<string> {
  const server = createTcpServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.once('data', onAsked);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

function deliver(mirror: TestMirror, url: string) {
  const { writer, clock } = mirror;
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { log, lines } = testLog();
  const post: typeof postByHttp = (...request) => clock.hold(() => postByHttp(...request));
  const ended = deliverChanges({
    mirror: writer,
    clock,
    log,
    post,
    webhook: { url, secret: SECRET },
    signal: stop.signal,
  });
  return { lines, stop: async () => (stop.abort(), await ended) };
}

async function changed(mirror: TestMirror, events: number): Promise<number[]> {
  mirror.sandbox.applyEvents(events);
  await mirror.sync();
  return (await mirror.database.query<{ id: number }>('SELECT id FROM changes ORDER BY id')).map(
    ({ id }) => id,
  );
}

async function until(
  mirror: TestMirror,
  isSo: () => boolean | Promise<boolean>,
  everyMs = 1000,
): Promise<void> {
  for (let polls = 0; !(await isSo()); polls += 1) {
    if (polls === 5000) throw new Error('the condition never held');
    await mirror.clock.sleep(everyMs);
  }
}

test('a new webhook gets each later change once, in order, signed, at most 100 a delivery', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const before = await changed(mirror, 20);
  const { url, taken } = await receiver();
  const { stop, lines } = deliver(mirror, url);
  await until(
    mirror,
    async () => (await openMirror(mirror.database).deliveries.read(targetOf(url))) !== null,
  );
  const all = await changed(mirror, 300);
  const expected = all.slice(before.length);
  await until(mirror, () => taken.flatMap(({ changes }) => changes).length >= expected.length);
  await stop();
  expect(taken.flatMap(({ changes }) => changes)).toEqual(expected);
  expect(Math.max(...taken.map(({ changes }) => changes.length))).toBeLessThanOrEqual(100);
  expect(lines).toEqual([]);
});

test('after a restored backup a delivery with the same ids of changes has another webhook-id', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { url, taken } = await receiver();
  const at0 = { lastId: 0, failures: 0, retryAt: null, cause: null, setAside: 0, setAsideId: null };
  const backup = await backUp(mirror.database);
  const deliverAll = async (): Promise<Taken | undefined> => {
    mirror.sandbox.world.setStatus(inbox, id, status);
    await mirror.sync();
    await mirror.writer.deliveries.write(targetOf(url), at0, mirror.clock.now());
    const had = taken.length;
    const { stop } = deliver(mirror, url);
    await until(mirror, () => taken.length > had);
    await stop();
    return taken.at(-1);
  };
  const { id: inbox, conversations } = nthInbox(mirror.sandbox, 0);
  const [id = ''] = firstIds(conversations, 1);
  let status = 'first';
  const first = await deliverAll();
  await restore(mirror.database, backup);
  status = 'second';
  const second = await deliverAll();
  expect(second?.changes).toEqual(first?.changes);
  for (const taking of [first, second]) expect(taking?.id).toMatch(/^changes_1_1-[0-9a-f]{12}$/);
  expect(second?.id).not.toBe(first?.id);
});

test('a failing receiver is retried less and less often and gets every change, in order', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { url, taken, asked } = await receiver((nth) =>
    nth <= 2 ? { status: 500 } : nth === 3 ? 'reset' : { status: 200 },
  );
  const { stop, lines } = deliver(mirror, url);
  await until(
    mirror,
    async () => (await openMirror(mirror.database).deliveries.read(targetOf(url))) !== null,
  );
  const from = mirror.clock.now();
  const all = await changed(mirror, 40);
  await until(mirror, () => taken.flatMap(({ changes }) => changes).length >= all.length);
  // The three pauses last at least 5 s, 30 s and 3 min.
  expect(mirror.clock.now() - from).toBeGreaterThan(215_000);
  expect(asked.length - taken.length).toBe(3);
  expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
  await stop();
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    expect.stringMatching(/^webhook delivery failed; retrying in .*, then less often$/),
    'the webhook accepts deliveries again',
  ]);
  expect(JSON.stringify([lines, await mirror.database.query('SELECT * FROM webhooks')])).not.toMatch(
    /t0p|whsec/,
  );
});

test('a receiver that answers with Retry-After gets no delivery before that time', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { url, taken } = await receiver((nth) =>
    nth === 1 ? { status: 429, retryAfter: '600' } : { status: 200 },
  );
  deliver(mirror, url);
  await until(
    mirror,
    async () => (await openMirror(mirror.database).deliveries.read(targetOf(url))) !== null,
  );
  const from = mirror.clock.now();
  await changed(mirror, 5);
  await until(mirror, () => taken.length > 0);
  expect(mirror.clock.now() - from).toBeGreaterThanOrEqual(600_000);
});

test.each([408, 413, 504])(
  'a %i makes deliveries smaller, and a retry time far in the future is ignored',
  async (status) => {
    const mirror = await quickMirror();
    await mirror.sync();
    const { url, taken, asked } = await receiver((_nth, ids) => ({ status: ids.length > 20 ? status : 204 }));
    const ahead = new Date(mirror.clock.now() + 30 * 24 * 3_600_000);
    await mirror.writer.deliveries.write(
      targetOf(url),
      { ...BEGUN, failures: 1, retryAt: ahead },
      mirror.clock.now(),
    );
    const all = await changed(mirror, 100);
    deliver(mirror, url);
    const from = mirror.clock.now();
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
    expect(asked.length - taken.length).toBeLessThan(4);
    expect(mirror.clock.now() - from).toBeLessThan(60_000);
  },
);

test('a receiver that is too slow for one change is retried less and less often, and skips none', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { url, taken, asked } = await receiver((nth) => ({ status: nth <= 12 ? 504 : 204 }));
  await mirror.writer.deliveries.write(targetOf(url), BEGUN, 0);
  const all = await changed(mirror, 100);
  deliver(mirror, url);
  const from = mirror.clock.now();
  await until(mirror, () => asked.length >= 12, 60_000);
  expect(mirror.clock.now() - from).toBeGreaterThan(60 * 60_000);
  await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1), 60_000);
  expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
});

test('deliveries that a receiver refused for a while grow again once it accepts them', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { url, taken } = await receiver((nth) => ({ status: nth <= 7 ? 400 : 204 }));
  await mirror.writer.deliveries.write(targetOf(url), BEGUN, 0);
  let all: number[] = [];
  while (all.length < 310) all = await changed(mirror, 100);
  deliver(mirror, url);
  await until(mirror, () => taken.flatMap(({ changes }) => changes).length === all.length);
  expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
  const sizes = taken.map(({ changes }) => changes.length);
  expect(sizes.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 1));
  expect(sizes.slice(100, 200)).toEqual(Array.from({ length: 100 }, () => 2));
  expect(sizes[200]).toBe(4);
});

test('a rotated token in the address loses no change, also of a cursor under the whole address', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { url, taken } = await receiver();
  // An earlier version named the target by its whole address.
  const whole = createHash('sha256').update(url).digest('hex').slice(0, 16);
  await mirror.writer.deliveries.write(whole, BEGUN, mirror.clock.now());
  const first = await changed(mirror, 10);
  const { stop } = deliver(mirror, url);
  await until(mirror, () => taken.at(-1)?.changes.at(-1) === first.at(-1));
  await stop();
  const all = await changed(mirror, 10);
  deliver(mirror, url.replace('token=t0p', 'key=renewed&v=2'));
  await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
  expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
});

describe('a change that the receiver refuses alone', () => {
  test.each([400, 413])('with %i is set aside, and all others arrive in order', async (refusal) => {
    const mirror = await quickMirror();
    await mirror.sync();
    let poison = Number.NaN;
    const { url, taken } = await receiver((_nth, ids) => ({ status: ids.includes(poison) ? refusal : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    const all = await changed(mirror, 200);
    poison = all[Math.floor(all.length / 3)]!;
    const from = mirror.clock.now();
    const { lines } = deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(taken.flatMap(({ changes }) => changes)).toEqual(all.filter((id) => id !== poison));
    expect(mirror.clock.now() - from).toBeLessThan(3_600_000);
    const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(said.filter(({ level }) => Number(level) >= 30)).toEqual([
      expect.objectContaining({ cause: `HTTP ${refusal}`, msg: expect.stringContaining('delivery failed') }),
      expect.objectContaining({
        change: poison,
        cause: `HTTP ${refusal}`,
        msg: 'the webhook refuses this change alone and accepts a later one: it is set aside',
      }),
    ]);
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({
      setAside: 1,
      setAsideId: poison,
    });
    // The deliveries are large again.
    const more = (await changed(mirror, 200)).slice(all.length);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === more.at(-1));
    expect(Math.max(...taken.map(({ changes }) => changes.length))).toBeGreaterThan(50);
  });

  test.each([
    ['every third one', (nth: number) => nth % 3 === 1],
    ['the first ten in a row', (nth: number) => nth < 10],
  ])(
    'costs less than a minute each, also where a kind of change is refused: %s',
    async (_which, isRefused) => {
      const mirror = await quickMirror();
      await mirror.sync();
      const refused = new Set<number>();
      const { url, taken } = await receiver((_nth, ids) => ({
        status: ids.some((id) => refused.has(id)) ? 400 : 204,
      }));
      await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
      const all = await changed(mirror, 30);
      for (const id of all.filter((_, nth) => isRefused(nth))) refused.add(id);
      const from = mirror.clock.now();
      deliver(mirror, url);
      const accepted = all.filter((id) => !refused.has(id));
      await until(mirror, () => taken.at(-1)?.changes.at(-1) === accepted.at(-1));
      expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(accepted));
      expect(mirror.clock.now() - from).toBeLessThan(refused.size * 60_000);
    },
  );

  test('is not set aside if the receiver accepts every change by then', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    // It is alone three times, and then two later ones are tried.
    const { url, taken, asked } = await receiver((nth) => ({ status: nth <= 12 ? 400 : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    let all: number[] = [];
    while (all.length < 100) all = await changed(mirror, 100);
    deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(new Set(asked.slice(7, 10)).size).toBe(1);
    expect(taken.slice(0, 2).map(({ changes }) => changes)).toEqual([[all[3]], [all[0]]]);
    expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(all));
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ setAside: 0 });
  });

  test.each([429, 503])('is not set aside by a %i after a later one was accepted', async (status) => {
    const mirror = await quickMirror();
    await mirror.sync();
    // It is alone three times, a later one is accepted, and the receiver is then too busy for a moment.
    const { url, taken } = await receiver((nth) => ({ status: nth <= 12 ? 400 : nth === 14 ? status : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    let all: number[] = [];
    while (all.length < 100) all = await changed(mirror, 100);
    deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(all));
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ setAside: 0 });
  });

  test.each([
    ['429', 'a second', 1000],
    ['503', 'ten seconds', 10_000],
  ])(
    'is set aside by a receiver that answers %s to more than one delivery in %s',
    async (busy, _in, gapMs) => {
      const mirror = await quickMirror();
      await mirror.sync();
      const poison = new Set<number>();
      let last = Number.NEGATIVE_INFINITY;
      const { url, taken } = await receiver((_nth, ids) => {
        const now = mirror.clock.now();
        if (now - last < gapMs) return { status: Number(busy) };
        last = now;
        return { status: ids.some((id) => poison.has(id)) ? 400 : 204 };
      });
      await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
      const all = await changed(mirror, 60);
      const rows = await mirror.database.query<{ id: number }>(
        `SELECT id FROM changes WHERE item_values IS NOT NULL AND id > $1 ORDER BY id LIMIT 1`,
        all[0],
      );
      poison.add(all[0]!).add(rows[0]!.id);
      const accepted = all.filter((id) => !poison.has(id));
      const from = mirror.clock.now();
      deliver(mirror, url);
      await until(mirror, () => taken.at(-1)?.changes.at(-1) === accepted.at(-1), 10_000);
      expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(accepted));
      expect(mirror.clock.now() - from).toBeLessThan(3_600_000);
    },
  );

  test('is set aside although every later one was refused for a while', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    let all: number[] = [];
    let isOutage = true;
    const { url, taken } = await receiver((_nth, ids) => {
      if (isOutage && ids.length === 1 && ids[0] === all.at(-1)) isOutage = false;
      return { status: isOutage || ids.includes(all[0]!) || ids.includes(all.at(-1)!) ? 400 : 204 };
    });
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    all = await changed(mirror, 30);
    deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-2));
    expect([...new Set(taken.flatMap(({ changes }) => changes))]).toEqual(all.slice(1, -1));
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ setAsideId: all[0] });
  });

  test('is set aside although long values let only a few of the later ones be read at once', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    let all: number[] = [];
    const { url, taken } = await receiver((_nth, ids) => ({
      status: ids.some((id) => id !== all.at(-1)) ? 413 : 204,
    }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    all = await changed(mirror, 30);
    const { feed } = mirror.writer;
    const after: Feed['after'] = (place, filter, limit) => feed.after(place, filter, Math.min(limit, 4));
    deliver({ ...mirror, writer: { ...mirror.writer, feed: { after } as Feed } }, url);
    await until(mirror, () => taken.length > 0, 60_000);
    expect(taken[0]!.changes).toEqual([all.at(-1)]);
  });

  test('is found as well if no text can hold it', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    const { url, taken } = await receiver();
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    const all = await changed(mirror, 30);
    const tooLong = {
      toJSON: () => {
        throw new RangeError('Invalid string length');
      },
    };
    const { feed } = mirror.writer;
    const after: Feed['after'] = async (...place) =>
      (await feed.after(...place)).map((change) =>
        change.id === all[3] ? { ...change, itemValues: tooLong as never } : change,
      );
    deliver({ ...mirror, writer: { ...mirror.writer, feed: { after } as Feed } }, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
  });

  test('waits while the receiver refuses the next one too', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    let refuses = true;
    const { url, taken, asked } = await receiver(() => ({ status: refuses ? 400 : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    const all = await changed(mirror, 30);
    const { lines } = deliver(mirror, url);
    await until(mirror, () => asked.length > 9);
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ lastId: 0, setAside: 0 });
    expect(lines.length).toBe(1);
    // The later ones have been tried by then, and the next attempt comes minutes later.
    await mirror.clock.sleep(60_000);
    refuses = false;
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
  });
});

test('a killed delivery resumes, and the receiver gets each change at least once, in order', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { url, taken } = await receiver();
  await deliver(mirror, url).stop();
  await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
  const all = await changed(mirror, 400);
  for (let kill = 0; kill < 4; kill += 1) {
    const had = taken.length;
    const { stop } = deliver(mirror, url);
    await until(mirror, () => taken.length > had || taken.at(-1)?.changes.at(-1) === all.at(-1));
    // Simulates a crash after the receiver accepted the delivery and before the daemon recorded it.
    const last = taken.at(-1)!.changes;
    await stop();
    if (kill < 2)
      await mirror.writer.deliveries.write(
        targetOf(url),
        { ...BEGUN, lastId: last[0]! - 1 },
        mirror.clock.now(),
      );
  }
  deliver(mirror, url);
  await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
  const seen = taken.flatMap(({ changes }) => changes);
  expect([...new Set(seen)]).toEqual(all);
});

describe('the outcome of a delivery', () => {
  test.each([
    ['very long', (response: ServerResponse) => void response.writeHead(200).end('x'.repeat(1_000_000))],
    [
      'cut off',
      (response: ServerResponse) =>
        void response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy()),
    ],
    [
      'in a broken encoding',
      (response: ServerResponse) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
    ],
  ])('is read from the head of an answer whose body is %s', async (_body, answer) => {
    expect(await postByHttp(await answering(answer), {}, '{}')).toEqual({
      status: 200,
      retryAfter: undefined,
      problem: null,
    });
  });

  test('names the setting for a certificate of one’s own authority', async () => {
    const server = createSecureServer(LOCALHOST, (_, response) => response.end()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as { port: number }).port}/`;
    expect(await postByHttp(url, {}, '{}')).toMatchObject({
      status: null,
      problem: expect.stringMatching(/UNABLE_TO_\w+: the certificate.*NODE_EXTRA_CA_CERTS/),
    });
  });

  test.each([
    [
      'with 413',
      (response: ServerResponse) => void response.writeHead(413).end(() => response.socket?.destroy()),
    ],
    ['without an answer', (response: ServerResponse) => void response.socket?.destroy()],
  ])('is 413 if the receiver closes %s before it has read a long body', async (_how, answer) => {
    const long = 'x'.repeat(8_000_000);
    expect(await postByHttp(await answering(answer), {}, long)).toMatchObject({ status: 413 });
  });

  test('is a failure if the receiver closes without an answer to a short body', async () => {
    const url = await answering((response) => void response.socket?.destroy());
    expect(await postByHttp(url, {}, '{}')).toMatchObject({ status: null });
  });

  test.each([
    ['receiver', {}],
    ['proxy for http', { http_proxy: 'http' }],
    ['proxy for https', { https_proxy: 'https' }],
  ])('is 504 if the %s does not answer in time', async (_who, proxies) => {
    const late = new AbortController();
    const timeOut = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
    onTestFinished(() => timeOut.mockRestore());
    const silent = await silentListener(() => late.abort(new DOMException('', 'TimeoutError')));
    const [[name, scheme] = []] = Object.entries(proxies);
    const answer =
      name === undefined
        ? postByHttp(silent, {}, '{}')
        : postByHttp(`${scheme}://receiver.example/`, {}, '{}', undefined, { [name]: silent });
    expect(await answer).toMatchObject({ status: 504, problem: 'no answer (ETIMEDOUT)' });
    expect(timeOut).toHaveBeenCalledWith(15_000);
  });

  test('is known before a receiver has read a long body, and a later stop of the daemon is no error', async () => {
    const [cut, closed] = [new AbortController(), Promise.withResolvers<void>()];
    const url = await answering((response) => {
      response.writeHead(413).end();
      response.socket?.once('close', closed.resolve).pause();
    });
    const long = 'x'.repeat(20_000_000);
    expect(await postByHttp(url, {}, long, cut.signal)).toMatchObject({ status: 413 });
    cut.abort();
    await closed.promise;
  });

  test('is a failure after interim answers without end', async () => {
    const url = await answering((response) => {
      for (let nth = 0; nth < 21; nth += 1) response.writeProcessing();
    });
    expect(await postByHttp(url, {}, '{}')).toMatchObject({
      status: null,
      problem: 'no answer (INTERIM_ANSWERS)',
    });
  });

  test('is neither recorded nor logged when the daemon ends before the answer', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    const asked = Promise.withResolvers<void>();
    const url = await answering(() => asked.resolve());
    const [stop, cut] = [new AbortController(), new AbortController()];
    const { log, lines } = testLog('trace');
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    await changed(mirror, 5);
    const webhook = { url, secret: SECRET };
    const post: Post = (...request) => postByHttp(...request, cut.signal);
    const ended = deliverChanges({
      mirror: mirror.writer,
      clock: mirror.clock,
      log,
      post,
      webhook,
      signal: stop.signal,
    });
    await asked.promise;
    stop.abort();
    cut.abort();
    await ended;
    expect(await openMirror(mirror.database).deliveries.read(targetOf(url))).toEqual(BEGUN);
    expect(lines).toEqual([]);
  });
});

test('a delivery has the names of its ids, and where the service shows the conversation', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const url = 'http://receiver.example/hook';
  const { log } = testLog();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const delivered: Record<string, unknown>[] = [];
  const post: Post = (_url, _headers, body) => {
    const { data } = JSON.parse(body) as { data: { changes: Record<string, unknown>[] } };
    delivered.push(...data.changes);
    return Promise.resolve({ status: 204, retryAfter: undefined, problem: null });
  };
  const { writer, clock } = mirror;
  void deliverChanges({
    mirror: writer,
    clock,
    log,
    post,
    webhook: { url, secret: SECRET },
    signal: stop.signal,
  });
  await until(mirror, async () => (await writer.deliveries.read(targetOf(url))) !== null);
  const inbox = nthInbox(mirror.sandbox, 0);
  const [id = ''] = firstIds(inbox.conversations, 1);
  const status = inbox.conversations.get(id)?.status === 'open' ? 'pending' : 'open';
  mirror.sandbox.world.setStatus(inbox.id, id, status);
  await mirror.sync();
  await until(mirror, () => delivered.length > 0);
  expect(delivered).toMatchObject([
    {
      inbox_id: inbox.id,
      item_id: id,
      field: 'status',
      inbox: inbox.display_name,
      item: null,
      old_name: null,
      new_name: null,
      permalink: expect.stringMatching(/^https:/) as string,
    },
  ]);
});

test('a new conversation is delivered with its values, or without them if the receiver refuses its size', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const { writer, clock, sandbox } = mirror;
  const url = 'http://receiver.example/hook';
  let most = Number.POSITIVE_INFINITY;
  const delivered: Record<string, unknown>[] = [];
  const post: Post = (_url, _headers, body) => {
    const { data } = JSON.parse(body) as { data: { changes: Record<string, unknown>[] } };
    const isTooLong = body.length > most;
    if (!isTooLong) delivered.push(...data.changes);
    return Promise.resolve({ status: isTooLong ? 413 : 204, retryAfter: undefined, problem: null });
  };
  await writer.deliveries.write(targetOf(url), BEGUN, clock.now());
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { log, lines } = testLog();
  void deliverChanges({
    mirror: writer,
    clock,
    log,
    post,
    webhook: { url, secret: SECRET },
    signal: stop.signal,
  });
  const inbox = nthInbox(sandbox, 0);
  const [user] = inbox.users.values();
  const [tag] = inbox.tags.values();
  const add = async (): Promise<string> => {
    const assignee = { assignee_type: 'user', assignee_id: user!.id };
    const { id } = sandbox.world.addConversation(inbox.id, { status: 'open', assignee, tag_ids: [tag!.id] });
    const had = delivered.length;
    await mirror.sync();
    await until(mirror, () => delivered.length > had);
    return id;
  };
  const first = await add();
  expect(delivered).toMatchObject([
    {
      item_id: first,
      field: 'presence',
      item: null,
      item_values: { status: 'open', assignee_id: user!.id, tags: [tag!.id] },
      item_names: { assignee_id: `${user!.first_name} ${user!.last_name}`, tags: [tag!.name] },
    },
  ]);
  const { item_values: values, item_names: names } = delivered[0]!;
  most = 600 + JSON.stringify([values, names]).length / 2;
  const second = await add();
  expect(delivered.slice(1)).toMatchObject([{ item_id: second, item_values: null, item_names: null }]);
  expect(lines).toEqual([]);
});

test('status and metrics report undelivered changes and the cause until they are delivered', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  let isDown = true;
  const { url } = await receiver(() => ({ status: isDown ? 503 : 204 }));
  const config = readConfig({ WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET }, '/', { service: false });
  const self = { host: 'test-host', pid: 1, isAlive: () => true, isWriter: true };
  const status = async () => {
    const reader = openMirror(mirror.database);
    return await readDetails(
      reader,
      config,
      await readJudgedStatus(reader, { now: mirror.clock.now(), config, self }),
    );
  };
  const gauges = async () => {
    const metrics = createMetrics({ version: '1.2.3', clock: mirror.clock });
    const now = await status();
    const body = await metrics.render({ status: now, details: now, isActive: true, databaseBytes: 0 });
    const lines = body.split('\n');
    return lines.filter((line) => line.startsWith('inbox_mirror_webhook'));
  };
  const { lastId: _lastId, ...begun } = BEGUN;
  expect((await status()).webhook).toEqual({ ...begun, hasBegun: false, pending: 0 });
  const { stop } = deliver(mirror, url);
  await until(
    mirror,
    async () => (await openMirror(mirror.database).deliveries.read(targetOf(url))) !== null,
  );
  const { length } = await changed(mirror, 10);
  await until(mirror, async () => ((await status()).webhook?.failures ?? 0) > 1, 20_000);
  await stop();
  const { webhook } = JSON.parse(statusAsJson(await status())) as { webhook: unknown };
  expect(webhook).toEqual({
    has_begun: true,
    pending: length,
    failures: expect.any(Number) as unknown,
    retry_at: expect.stringMatching(/Z$/) as unknown,
    cause: 'HTTP 503',
    set_aside: 0,
    set_aside_id: null,
  });
  expect(await gauges()).toEqual([
    `inbox_mirror_webhook_pending ${length}`,
    expect.stringMatching(/^inbox_mirror_webhook_failures [2-9]/),
    'inbox_mirror_webhook_set_aside 0',
  ]);
  isDown = false;
  deliver(mirror, url);
  await until(mirror, async () => (await status()).webhook?.pending === 0, 20_000);
  expect(await gauges()).toEqual([
    'inbox_mirror_webhook_pending 0',
    'inbox_mirror_webhook_failures 0',
    'inbox_mirror_webhook_set_aside 0',
  ]);
});
