import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../../src/daemon/http/metrics.ts';
import { deliverChanges } from '../../../src/daemon/webhook/deliver.ts';
import type { Post } from '../../../src/daemon/webhook/send.ts';
import { targetOf } from '../../../src/mirror/history/deliveries.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import { statusAsJson } from '../../../src/status/json.ts';
import { readDetails, readJudgedStatus } from '../../../src/status/observe.ts';
import { testLog } from '../../support/log.ts';
import { backUp, restore } from '../../support/restore.ts';
import { firstIds, nthInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';
import { BEGUN, changed, deliver, receiver, SECRET, type Taken, until } from './receiver.ts';

test('a new webhook gets each later change once, in order, signed, at most 100 a delivery', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  const before = await changed(mirror, 20);
  const { url, taken } = await receiver();
  const { stop, lines } = deliver(mirror, url);
  await until(mirror, async () => (await mirrorOn(mirror.database).deliveries.read(targetOf(url))) !== null);
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
  const backup = await backUp(mirror.database);
  const deliverAll = async (): Promise<Taken | undefined> => {
    mirror.sandbox.world.setStatus(inbox, id, status);
    await mirror.sync();
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
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
  await until(mirror, async () => (await mirrorOn(mirror.database).deliveries.read(targetOf(url))) !== null);
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
  await until(mirror, async () => (await mirrorOn(mirror.database).deliveries.read(targetOf(url))) !== null);
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
    const reader = mirrorOn(mirror.database);
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
  await until(mirror, async () => (await mirrorOn(mirror.database).deliveries.read(targetOf(url))) !== null);
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

test('the place of a target is not written over another one than that from which was sent', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  await changed(mirror, 5);
  const { deliveries, feed } = mirror.writer;
  const target = targetOf('http://receiver.example/hook');
  const sent = { afterId: 0, last: (await feed.after({ id: 0, epoch: null }, {}, 100)).at(-1)! };
  const delivered = { ...BEGUN, lastId: sent.last.id };
  await deliveries.write(target, { ...BEGUN, lastId: 1 }, 0);
  expect(await deliveries.write(target, delivered, 0, sent)).toBe(false);
  expect((await deliveries.read(target))?.lastId).toBe(1);
  await deliveries.write(target, BEGUN, 0);
  expect(await deliveries.write(target, delivered, 0, sent)).toBe(true);
});

test('a database that loses changes while they are on their way delivers all that follow', async () => {
  const mirror = await quickMirror();
  await mirror.sync();
  let kept: number | null = null;
  let lost = 0;
  const { url, taken } = await receiver(async (_nth, ids) => {
    // As a server does that fails over to a copy without the newest changes.
    if (kept !== null && ids.some((id) => id > kept!)) {
      await mirror.database.execute(`DELETE FROM changes WHERE id > $1`, kept);
      await mirror.database.execute(`UPDATE sqlite_sequence SET seq = $1 WHERE name = 'changes'`, kept);
      kept = null;
      lost = taken.length + 1;
    }
    return { status: 204 };
  });
  const ids = (from = 0): number[] => taken.slice(from).flatMap(({ changes }) => changes);
  await mirror.writer.deliveries.write(targetOf(url), BEGUN, 0);
  deliver(mirror, url);
  const last = (await changed(mirror, 5)).at(-1)!;
  await until(mirror, () => ids().includes(last));
  kept = last;
  await changed(mirror, 20);
  await until(mirror, () => kept === null);
  const later = (await changed(mirror, 5)).filter((id) => id > last);
  await until(mirror, () => ids().includes(later.at(-1)!));
  expect(ids(lost)).toEqual(later);
});
