import { expect, onTestFinished, test, vi } from 'vitest';
import { HOUR } from '../../../src/core/clock.ts';
import { createMetrics } from '../../../src/daemon/http/metrics.ts';
import { createEndpoints } from '../../../src/daemon/http/server.ts';
import { readLease } from '../../../src/mirror/lease.ts';
import { statusAsJson } from '../../../src/status/json.ts';
import { testLog } from '../../support/log.ts';
import { KEY } from '../../support/mirror.ts';
import { testProgram } from '../../support/program.ts';
import { type Answered, served } from './served.ts';

const PATHS = ['/healthz', '/readyz', '/metrics', '/status.json', '/'];

test('/healthz reports process, database, role, uptime and version', async () => {
  const { ask, clock } = await served();
  clock.advance(90_500);
  const { status, json } = await ask('/healthz');
  expect(status).toBe(200);
  expect(json).toEqual({
    status: 'ok',
    database: 'ok',
    role: 'active',
    uptime_seconds: 90,
    version: '1.2.3',
  });
});

test('/healthz answers 503 after 2 s without the database, logs that once, and recovers', async () => {
  let arrived: () => void = () => undefined;
  let pings = 0;
  const release = Promise.withResolvers<void>();
  const { ask, mirror, logged } = await served(
    {},
    {
      role: () => {
        arrived();
        return 'standby';
      },
      ping: () => {
        pings += 1;
        return readLease(mirror.database);
      },
    },
  );
  const askInVain = async (): Promise<Answered> => {
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    const answer = ask('/healthz');
    await arrival;
    vi.advanceTimersByTime(2000);
    return await answer;
  };
  const busy = mirror.database.transaction(() => release.promise);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { status, json } = await askInVain();
  expect(status).toBe(503);
  expect(json).toMatchObject({
    status: 'failed',
    database: 'The database has not answered for 2 s.',
    role: 'standby',
  });
  expect((await askInVain()).status).toBe(503);
  expect(pings, 'the one that is under way is shared').toBe(1);
  expect(logged.filter((line) => line.includes('the database does not answer'))).toHaveLength(1);
  vi.useRealTimers();
  release.resolve();
  await busy;
  expect((await ask('/healthz')).status).toBe(200);
  expect(logged.at(-1)).toContain('answers the endpoints again');
});

test('held deletions are in the status, in /readyz and in the metrics until a person accepts them', async () => {
  const { ask, sync, clock, mirror } = await served({ sandbox: { conversations: [100] } });
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  for (const id of inbox!.conversations.order.slice(0, 30))
    mirror.sandbox.world.removeConversation(inbox!.id, id);
  await sync();
  clock.advance(HOUR);
  await sync();
  clock.advance(1000);
  const held = { list: 'conversations', inbox_id: inbox!.id };
  const ready = await ask('/readyz');
  expect(ready).toMatchObject({ status: 503, json: { ready: false, held: [{ ...held, rows: 30 }] } });
  const status = await ask('/status.json');
  expect(status.json['healthy']).toBe(false);
  expect(status.json['lists']).toContainEqual(expect.objectContaining({ ...held, held: 30 }));
  const gauge = `inbox_mirror_list_held_rows{list="conversations",inbox_id="${inbox!.id}"}`;
  expect((await ask('/metrics')).body).toContain(`${gauge} 30`);
  await sync({ kind: 'resync', acceptDeletes: true });
  clock.advance(1000);
  expect(await ask('/readyz')).toMatchObject({ status: 200, json: { ready: true, held: [] } });
  expect((await ask('/metrics')).body).toContain(`${gauge} 0`);
});

test('another account is in the status, in /readyz and in the metrics', async () => {
  const { ask, sync, clock, mirror } = await served();
  await sync();
  const { world } = mirror.sandbox;
  for (const id of world.inboxes.keys()) world.removeInbox(id);
  world.addInbox();
  expect((await sync()).stopped).toMatchObject({ code: 'OTHER_ACCOUNT' });
  clock.advance(1000);
  const found = { cause: expect.stringContaining('another account') as unknown };
  expect(await ask('/readyz')).toMatchObject({ status: 503, json: { ready: false, other_account: found } });
  expect((await ask('/status.json')).json).toMatchObject({ healthy: false, other_account: found });
  expect((await ask('/metrics')).body).toContain('inbox_mirror_other_account 1');
});

test('/readyz names the lists that are not as fresh as promised, and is ready if none is late', async () => {
  const { ask, sync, clock } = await served();
  const before = await ask('/readyz');
  expect(before.status).toBe(503);
  expect(before.json).toEqual({
    ready: false,
    lists: 1,
    not_fresh: [
      {
        list: 'inboxes',
        inbox_id: null,
        state: 'never',
        complete_as_of: null,
        age_seconds: null,
        promise_seconds: expect.closeTo(7200, 0),
        failure: null,
      },
    ],
    held: [],
    other_account: null,
  });
  await sync();
  clock.advance(1000);
  const ready = await ask('/readyz');
  expect({ status: ready.status, json: ready.json }).toEqual({
    status: 200,
    json: { ready: true, lists: 7, not_fresh: [], held: [], other_account: null },
  });
  clock.advance(HOUR);
  const late = await ask('/readyz');
  expect(late.status).toBe(503);
  expect(late.json['not_fresh']).toMatchObject([
    {
      list: 'conversations',
      state: 'stale',
      promise_seconds: expect.closeTo(1800, 0),
      inbox_id: expect.stringMatching(/^\d+$/),
    },
    { list: 'conversations', state: 'stale' },
  ]);
});

test('/status.json is not healthy while the daemon cannot use its database', async () => {
  let fault: string | null = null;
  const { ask, sync, clock } = await served({}, { fault: () => fault });
  await sync();
  clock.advance(2000);
  expect((await ask('/status.json')).json).toMatchObject({ healthy: true });
  fault = 'The file was deleted.';
  expect((await ask('/status.json')).json).toMatchObject({ healthy: false });
});

test('/status.json returns what `status --json` prints', async () => {
  const { ask, sync, status, mirror } = await served();
  await sync();
  const { status: code, headers, body } = await ask('/status.json');
  expect(code).toBe(200);
  expect(headers['content-type']).toContain('application/json');
  expect(body).toBe(`${statusAsJson(await status())}\n`);
  const program = await testProgram({}, { DATABASE_URL: `file:${mirror.database.name}` });
  const printed = JSON.parse((await program.run('status', '--json')).stdout) as Record<string, unknown>;
  expect(Object.keys(JSON.parse(body) as object)).toEqual(Object.keys(printed));
});

test('/ lists the endpoints, and an unknown path answers 404 with a sentence', async () => {
  const { ask } = await served();
  const index = await ask('/');
  expect(index.headers['content-type']).toContain('text/plain');
  for (const path of PATHS) expect(index.body).toContain(path);
  const missing = await ask('/admin?x=1');
  expect(missing.status).toBe(404);
  expect(missing.json).toEqual({ error: 'There is no such endpoint; / lists all endpoints.' });
});

test('HEAD returns the headers of GET and no body', async () => {
  const { ask, sync } = await served();
  await sync();
  for (const path of PATHS) {
    const [get, head] = [await ask(path), await ask(path, { method: 'HEAD' })];
    expect([head.status, head.body], path).toEqual([200, '']);
    for (const name of ['content-type', 'cache-control', 'x-content-type-options'])
      expect(head.headers[name], path).toBe(get.headers[name]);
  }
});

test('a method that could write answers 405 on every path', async () => {
  const { ask } = await served();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    for (const path of ['/healthz', '/nowhere']) {
      const { status, headers, json } = await ask(path, {
        method,
        headers: { 'content-type': 'text/odd', 'content-length': '0' },
      });
      expect([status, headers.allow], `${method} ${path}`).toEqual([405, 'GET, HEAD']);
      expect(json['error'], `${method} ${path}`).toContain('read-only');
    }
    expect((await ask('/healthz')).status, `after ${method}`).toBe(200);
  }
});

test('every answer forbids caching and content sniffing', async () => {
  const { ask } = await served();
  const answers = [
    ...(await Promise.all([...PATHS, '/nowhere'].map((path) => ask(path)))),
    await ask('/', { method: 'POST' }),
    await ask('/', { headers: { host: 'evil.example' } }),
  ];
  for (const { headers } of answers)
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
});

const ACCEPTED_HOSTS = [
  '127.0.0.1',
  '127.0.0.1:8787',
  '10.1.2.3:80',
  '[::1]',
  '[::1]:8787',
  'localhost:1',
  'LocalHost',
  'localhost.',
  'Mirror.Example:8787',
  'my-host:8787',
];

test('addresses, localhost and the configured host names are accepted', async () => {
  const { ask } = await served({}, { host: '127.0.0.1', allowedHosts: ['mirror.example', 'my-host'] });
  for (const host of ACCEPTED_HOSTS)
    expect((await ask('/healthz', { headers: { host } })).status, host).toBe(200);
});

const REFUSED_HOSTS = [
  'evil.example',
  'evil.example:8787',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'evil-mirror.example',
  'evil.mirror.example',
  'evil-localhost',
  'evil.localhost',
  '[evil]',
  '[::1',
  'a b',
];

test('any other host name is refused, and the error names the variable that would allow it', async () => {
  const { ask } = await served();
  for (const host of REFUSED_HOSTS)
    for (const path of [...PATHS, '/nowhere']) {
      const { status, json } = await ask(path, { headers: { host } });
      expect([host, path, status, json]).toEqual([
        host,
        path,
        421,
        { error: expect.stringContaining('HTTP_ALLOWED_HOSTS') },
      ]);
    }
});

test('the host name in HTTP_HOST is accepted', async () => {
  // 127.1 is the address 127.0.0.1, but in a Host header it reads as a name.
  const headers = { host: '127.1' };
  expect((await (await served({}, { host: '127.1' })).ask('/healthz', { headers })).status).toBe(200);
  expect((await (await served()).ask('/healthz', { headers })).status).toBe(421);
});

test.each([
  [
    'a taken port',
    (port: number) => ({ host: '127.0.0.1', port }),
    /HTTP_PORT: another program.* listens on 127\.0\.0\.1:\d+\./,
  ],
  [
    'an address of another machine',
    () => ({ host: '192.0.2.1', port: 0 }),
    /HTTP_HOST: this machine has no address 192\.0\.2\.1 now\./,
  ],
  [
    'an unknown name',
    () => ({ host: 'mirror.invalid', port: 0 }),
    /HTTP_HOST: the name mirror\.invalid cannot be resolved now \(E\w+\)\./,
  ],
])('%s is a failure of this moment, and the message names the variable', async (_what, where, message) => {
  const { url, clock, metrics, status } = await served();
  const { log } = testLog('silent');
  const second = createEndpoints({
    ...where(Number(new URL(url).port)),
    allowedHosts: [],
    token: null,
    version: '1.2.3',
    databaseUrl: 'file:missing.db',
    reportTimezone: 'UTC',
    clock,
    log,
    metrics,
    role: () => 'standby',
    fault: () => null,
    ping: async () => undefined,
    status,
    details: status,
    databaseBytes: () => 0,
    changes: async () => [],
    unknown: async () => [],
    orders: { place: () => Promise.reject(new Error('none')), cancel: () => Promise.resolve(false) },
    newestChange: async () => ({ id: 0, epoch: null }),
  });
  await expect(second.listen()).rejects.toMatchObject({
    code: 'ENDPOINTS',
    message: expect.stringMatching(message),
  });
});

test('a closed database makes every endpoint answer 503 without a stack trace', async () => {
  const { ask, mirror, logged, sync } = await served();
  await sync();
  await mirror.database.close();
  for (const path of ['/healthz', '/readyz', '/metrics', '/status.json']) {
    const { status, body } = await ask(path);
    expect(status, path).toBe(503);
    expect(body, path).toMatch(/The database .* is closed\./);
    expect(body, path).not.toMatch(/\.ts|node_modules| at /);
  }
  expect((await ask('/')).status).toBe(200);
  expect(logged.join('')).toContain('is closed');
  expect(logged, 'one line for the ping and one for the status').toHaveLength(2);
});

test('any other failure of an endpoint answers 500, with its cause only in the log', async () => {
  const broken = {
    ...createMetrics({ version: '1', clock: { monotonic: () => 0 } }),
    render: async () => Promise.reject(new Error('a bug')),
  };
  const { ask, logged } = await served({}, { metrics: broken });
  const { status, body } = await ask('/metrics');
  expect(status).toBe(500);
  expect(body).not.toContain('a bug');
  expect(logged.join('')).toContain('a bug');
});

test('a failed read is not cached: the next request reads again', async () => {
  let broken = true;
  const all = await served(
    {},
    { status: async () => (broken ? Promise.reject(new Error('disk I/O error')) : await all.status()) },
  );
  expect((await all.ask('/status.json')).status).toBe(503);
  broken = false;
  expect((await all.ask('/status.json')).status).toBe(200);
});

test('requests within a second share one read of the status, and a later one reads again', async () => {
  let reads = 0;
  let details = 0;
  const all = await served(
    {},
    {
      status: async () => {
        reads += 1;
        return await all.status();
      },
      details: async () => {
        details += 1;
        return await all.status();
      },
    },
  );
  await Promise.all(
    Array.from({ length: 10 }, () =>
      Promise.all(['/metrics', '/readyz', '/status.json'].map((path) => all.ask(path))),
    ),
  );
  expect([reads, details]).toEqual([1, 1]);
  all.clock.advance(999);
  await Promise.all(['/metrics', '/status.json'].map((path) => all.ask(path)));
  expect([reads, details]).toEqual([1, 1]);
  all.clock.advance(1);
  await all.ask('/metrics');
  expect([reads, details], 'only /status.json needs the details').toEqual([2, 1]);
  await all.ask('/status.json');
  expect([reads, details]).toEqual([2, 2]);
});

test('the endpoints answer while another program locks the database to write', async () => {
  const { ask, mirror, sync } = await served();
  await sync();
  const { default: Sqlite } = await import('better-sqlite3');
  const other = new Sqlite(mirror.database.name);
  onTestFinished(() => void other.close());
  other.exec('BEGIN EXCLUSIVE');
  for (const path of PATHS) expect((await ask(path)).status, path).toBe(200);
});

test('no answer and no log line contains the key, even where the service echoes it', async () => {
  const { ask, mirror, sync, logged } = await served();
  mirror.sandbox.script(({ path }) =>
    path.includes('/tags')
      ? { status: 404, body: `{"errors":[{"message":"${KEY} is not welcome"}]}` }
      : undefined,
  );
  await sync();
  const bodies = await Promise.all(PATHS.map(async (path) => (await ask(path)).body));
  expect(bodies.join(''), 'the refusal is told').toContain('is not welcome');
  expect(bodies.join('') + logged.join('')).not.toContain(KEY);
});

test('after close the port refuses connections', async () => {
  const clock = { now: () => 0, monotonic: () => 0, sleep: async () => undefined };
  const { log } = testLog('silent');
  const endpoints = createEndpoints({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    token: null,
    version: '1',
    databaseUrl: 'file:missing.db',
    reportTimezone: 'UTC',
    clock,
    log,
    metrics: createMetrics({ version: '1', clock }),
    role: () => 'active',
    fault: () => null,
    ping: async () => undefined,
    status: async () => Promise.reject(new Error('none')),
    details: async () => Promise.reject(new Error('none')),
    databaseBytes: () => 0,
    changes: async () => [],
    unknown: async () => [],
    orders: { place: () => Promise.reject(new Error('none')), cancel: () => Promise.resolve(false) },
    newestChange: async () => ({ id: 0, epoch: null }),
  });
  const url = await endpoints.listen();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await endpoints.close();
  await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
});
