import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/errors.ts';
import { accessId } from '../../../src/core/secrets.ts';
import type { ScriptedOutcome } from '../../../src/sandbox/sandbox.ts';
import { KEY } from '../../support/mirror.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { accessWith, benchOf, ENTRY, gapsOf, OK, times } from './bench.ts';

const FAILURES: [string, ScriptedOutcome][] = [
  ['a 500', { status: 500, body: '{"Message":"Internal Server Error"}' }],
  ['a 503 page', { status: 503, body: '<html>' }],
  ['a time-out that the service reports', { status: 408 }],
  ['a reset connection', 'reset'],
  ['an empty body', { status: 200, body: '' }],
  ['a body cut short', { status: 200, body: '{"results":[{"id":"1"' }],
];

test.each(FAILURES)(
  'after %s the gate sends four requests in all, at least 2, 4 and 8 s apart, then reports an outage',
  async (_name, failure) => {
    const { start, sandbox } = benchOf();
    sandbox.script(() => failure);
    const { ask, events } = await start(await freshMirrorFile());

    await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_DOWN' });

    const gaps = gapsOf(sandbox);
    expect(gaps).toHaveLength(3);
    for (const [index, gap] of gaps.entries()) expect(gap).toBeGreaterThanOrEqual(2000 * 2 ** index);
    expect(events.map(({ kind }) => kind)).toEqual(['retry', 'retry', 'retry']);
  },
);

test('after an outage was reported each call is one request, until the service answers again', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => 'reset');
  const { ask } = await start(await freshMirrorFile());
  await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_DOWN' });
  const before = sandbox.arrivals.length;

  await times(3, () => expect(ask()).rejects.toMatchObject({ code: 'SERVICE_DOWN' }));
  expect(sandbox.arrivals.length - before).toBe(3);

  sandbox.script(undefined);
  expect(await ask()).toMatchObject({ ok: true, requests: 1 });
  sandbox.script(() => (sandbox.arrivals.length < before + 6 ? 'reset' : undefined));
  expect(await ask()).toMatchObject({ ok: true, requests: 2 });
});

test('a 429 after an outage was reported is retried as ever', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => 'reset');
  const { ask } = await start(await freshMirrorFile());
  await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_DOWN' });
  const before = sandbox.arrivals.length;
  sandbox.script(() => (sandbox.arrivals.length === before + 1 ? { status: 429 } : undefined));
  expect(await ask()).toMatchObject({ ok: true, requests: 2 });
});

test('a failure that passes costs one retry, and the answer reports two requests', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => (sandbox.arrivals.length === 1 ? { status: 502 } : undefined));
  const { ask } = await start(await freshMirrorFile());

  expect(await ask()).toMatchObject({ ok: true, requests: 2 });
});

test('a request that fails four times while others succeed is not reported as an outage', async () => {
  const { start, sandbox, clock } = benchOf();
  sandbox.script(({ path }) => (path.startsWith('/v1/inboxes/1') ? { status: 500 } : OK));
  const { ask } = await start(await freshMirrorFile());
  const failing = ask({ path: '/inboxes/1' }).catch((error: unknown) => error);

  await times(5, async () => {
    await ask();
    await clock.sleep(2000);
  });

  expect(await failing).toMatchObject({ code: 'ANSWER_FAILED' });
});

test('an answer from before the first failure does not prove that the service is up', async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  await times(10, () => ask());
  sandbox.script(({ path }) =>
    sandbox.arrivals.length > 12 || path.startsWith('/v1/inboxes/1') ? { status: 500 } : OK,
  );

  const failing = ask({ path: '/inboxes/1', way: () => [0, 7000] });
  await Promise.all([ask(), expect(failing).rejects.toMatchObject({ code: 'SERVICE_DOWN' })]);
});

test.each([401, 403])(
  'after a %i for the key, no caller and no restarted process sends another request with it',
  async (status) => {
    const { start, sandbox } = benchOf();
    sandbox.script(() => ({ status }));
    const path = await freshMirrorFile();
    const { ask, database, events } = await start(path, { budget: { perSecond: 1000 } });

    const ends = await Promise.allSettled(Array.from({ length: 6 }, () => ask()));
    await database.close();
    const restarted = await start(path);
    ends.push(...(await Promise.allSettled([restarted.ask(), restarted.ask()])));

    for (const end of ends)
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'KEY_REFUSED' } });
    expect(sandbox.arrivals).toHaveLength(1);
    expect(events).toEqual([{ kind: 'key-refused', cause: `HTTP ${status}` }]);
  },
);

test('the error, the ledger and the gate repeat the service’s reason for refusing the key', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => ({ status: 401, body: '{"errors":[{"message":"API key expired on 2026-10-31."}]}' }));
  const { ask, ledger, database, events } = await start(await freshMirrorFile());
  const cause = 'HTTP 401: API key expired on 2026-10-31';

  await expect(ask()).rejects.toThrow(`The service refused the API key (${cause}).`);
  expect(await database.query('SELECT error FROM requests')).toEqual([{ error: cause }]);
  expect(await ledger.gateState()).toMatchObject({ cause });
  expect(events).toEqual([{ kind: 'key-refused', cause }]);
});

test('the error after failed retries, the ledger and each retry repeat the service’s words', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => ({ status: 503, body: 'Down for maintenance until 09:00.' }));
  const { ask, database, events } = await start(await freshMirrorFile());
  const cause = 'HTTP 503: Down for maintenance until 09:00';

  await expect(ask()).rejects.toThrow(`GET /inboxes failed 4 times, the last time: ${cause}. The service`);
  expect(await database.query('SELECT DISTINCT error FROM requests')).toEqual([{ error: cause }]);
  expect(events[0]).toMatchObject({ kind: 'retry', cause });
});

test('a pause repeats the service’s words about its limit', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => ({ status: 429, body: '{"Message":"Daily quota of 5000 reached"}' }));
  const { ask, ledger, database } = await start(await freshMirrorFile(), { patienceMs: 0 });

  await expect(ask()).rejects.toThrow('429 (too many requests): "Daily quota of 5000 reached"');
  expect((await ledger.gateState()).cause).toContain('Daily quota of 5000 reached');
  expect(await database.query('SELECT error FROM requests')).toEqual([
    { error: 'HTTP 429: Daily quota of 5000 reached' },
  ]);
});

test('the gate retries a refused key once a person allows it, and another key at once', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => ({ status: 401 }));
  const path = await freshMirrorFile();
  let key = KEY;
  const { ask, ledger } = await start(path, { key: () => key });
  await ask().catch(() => undefined);
  sandbox.script(undefined);

  await ledger.allowKey(accessId(accessWith(KEY)));
  expect(await ask()).toMatchObject({ ok: true });
  await ledger.refuseKey((await ledger.gateState()).refusedKey ?? 'none', 'HTTP 401', 0);
  key = 'another';
  await expect(ask()).rejects.toMatchObject({ code: 'KEY_REFUSED' });
  key = KEY;
  expect(await ask()).toMatchObject({ ok: true });
  expect(sandbox.arrivals.map(({ status }) => status)).toEqual([401, 200, 401, 200]);
});

test('the refusal of an old key does not close the gate for the key that replaced it', async () => {
  const { start, arrived } = benchOf();
  let key = 'deleted';
  const { ask } = await start(await freshMirrorFile(), { key: () => key, way: () => [0, 1000] });
  const refused = ask().catch((error: unknown) => error);
  await arrived(1);
  key = KEY;

  expect(await refused).toMatchObject({ code: 'KEY_REFUSED' });
  expect(await ask()).toMatchObject({ ok: true });
});

test('an exception of one caller reaches that caller only, and the gate stays open for others', async () => {
  const { start, sandbox } = benchOf();
  const { gate, ask, database } = await start(await freshMirrorFile());
  const bug = gate.request(
    { entry: ENTRY },
    {
      send: () => {
        throw new TypeError('no such thing');
      },
      read: () => ({ result: null, items: null }),
    },
  );

  await expect(bug).rejects.toThrow('no such thing');
  expect(await ask()).toMatchObject({ ok: true });
  expect(sandbox.arrivals).toHaveLength(1);
  expect(await database.query('SELECT status, error FROM requests ORDER BY id')).toEqual([
    { status: null, error: 'no such thing' },
    { status: 200, error: null },
  ]);
});

test('an answer of the wrong shape costs one request and does not count as a failure', async () => {
  const { start, sandbox } = benchOf();
  const { gate, ask } = await start(await freshMirrorFile());
  const wrong = gate.request(
    { entry: ENTRY },
    {
      send: async () => ({
        status: 200,
        body: '[]',
        retryAfter: undefined,
        location: undefined,
        date: undefined,
      }),
      read: () => {
        throw new MirrorError('BAD_ANSWER', 'expected an object');
      },
    },
  );

  await expect(wrong).rejects.toMatchObject({ code: 'BAD_ANSWER' });
  expect(await ask()).toMatchObject({ ok: true, requests: 1 });
  expect(sandbox.arrivals).toHaveLength(1);
});

test('a 503 with Retry-After is retried no earlier than it asks, and other requests leave meanwhile', async () => {
  const { start, sandbox, clock } = benchOf();
  sandbox.script(({ path }) =>
    path.startsWith('/v1/inboxes/1') && sandbox.arrivals.length === 1
      ? { status: 503, headers: { 'retry-after': '30' } }
      : OK,
  );
  const { ask, events } = await start(await freshMirrorFile());
  const begun = clock.now();

  const slow = ask({ path: '/inboxes/1' });
  await ask();
  expect(clock.now() - begun).toBeLessThan(5000);
  expect(await slow).toMatchObject({ ok: true, requests: 2 });

  const [first, , last] = sandbox.arrivals;
  expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(30_000);
  expect(events).toMatchObject([{ kind: 'retry', waitMs: 30_000 }]);
});

describe('a Retry-After beyond the patience', () => {
  const IMPATIENT = { patienceMs: 120_000 };
  const DOWN = { status: 503, headers: { 'retry-after': '7200' }, body: 'Maintenance' };

  test('pauses the gate for other processes too, and one request leaves after it', async () => {
    const { start, sandbox, clock } = benchOf();
    sandbox.script(() => DOWN);
    const path = await freshMirrorFile();
    const [one, other] = [await start(path, IMPATIENT), await start(path, IMPATIENT)];
    await expect(one.ask()).rejects.toMatchObject({ code: 'SERVICE_DOWN' });
    expect(one.events).toMatchObject([{ kind: 'paused' }]);

    await expect(other.ask()).rejects.toMatchObject({
      code: 'GATE_PAUSED',
      message: expect.stringMatching(
        /sent until .* \(for 2 h\): the service failed \(HTTP 503: Maintenance\) and asked to wait 2 h\. /,
      ) as string,
    });
    expect(sandbox.arrivals).toHaveLength(1);
    clock.advance(7_200_001);
    sandbox.script(() => OK);
    expect(await other.ask()).toMatchObject({ ok: true, requests: 1 });
    expect(other.events).toMatchObject([{ kind: 'opened' }]);
  });

  test('of one path alone leaves the gate open, and of every path shuts it at the second failure', async () => {
    const { start, sandbox } = benchOf();
    let isDown = false;
    sandbox.script(({ path }) => (isDown || path.startsWith('/v1/inboxes/1') ? DOWN : OK));
    const { ask, ledger } = await start(await freshMirrorFile(), IMPATIENT);
    for (let round = 0; round < 3; round += 1) {
      await ask();
      await expect(ask({ path: '/inboxes/1' })).rejects.toMatchObject({ code: 'ANSWER_FAILED' });
    }
    expect((await ledger.gateState()).pausedAt).toBeNull();

    isDown = true;
    await ask().catch(() => undefined);
    expect((await ledger.gateState()).pausedAt).not.toBeNull();
    await expect(ask()).rejects.toMatchObject({ code: 'GATE_PAUSED' });
  });

  test('of two paths alone, one read after the other, pauses the gate at most once', async () => {
    const { start, sandbox, clock } = benchOf();
    sandbox.script(({ path }) => (path.startsWith('/v1/inboxes/1') ? DOWN : OK));
    const { ask, ledger } = await start(await freshMirrorFile(), IMPATIENT);
    const failures = [];
    for (let round = 0; round < 4; round += 1) {
      await ask();
      for (const path of ['/inboxes/1/users', '/inboxes/1/tags'])
        failures.push(await ask({ path }).catch((error: unknown) => (error as MirrorError).code));
      clock.advance(7_200_001);
    }
    expect(failures.filter((code) => code === 'SERVICE_DOWN')).toHaveLength(1);
    expect((await ledger.gateState()).pausedAt).toBeNull();
  });

  test('never ends a longer pause', async () => {
    const { start, sandbox, clock } = benchOf();
    const { ledger } = await start(await freshMirrorFile());
    const until = clock.now() + 7_200_000;
    await ledger.pauseGate(1, () => until, '429', clock.now());
    expect(await ledger.pauseForFailure(2, clock.now() + 1000, '503', clock.now())).toBe(true);
    expect(await ledger.gateState()).toMatchObject({ pausedUntil: new Date(until), strikes: 1 });
    expect(sandbox.arrivals).toHaveLength(0);
  });
});

test('a Retry-After beyond the patience ends the call after one request, with the time to resume', async () => {
  const { start, sandbox, clock } = benchOf();
  sandbox.script(() => ({ status: 503, headers: { 'retry-after': '7200' }, body: 'Maintenance' }));
  const { ask } = await start(await freshMirrorFile(), { patienceMs: 120_000 });
  const begun = clock.now();

  const error: unknown = await ask().catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({ code: 'SERVICE_DOWN' });
  expect((error as MirrorError).resumeAt?.getTime()).toBeGreaterThanOrEqual(begun + 7_200_000);
  expect((error as MirrorError).message).toMatch(/HTTP 503: Maintenance.*asks to wait until .*\(for 2 h\)/);
  expect(sandbox.arrivals).toHaveLength(1);
});
