import { expect, test } from 'vitest';
import { iso } from '../../src/database/instants.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { type Answered, type Served, served } from '../daemon/http/served.ts';
import { passSpec } from '../support/pass-spec.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' };

const get = (ask: Served['ask'], path: string, headers = {}): Promise<Answered> =>
  ask(path, { headers: { accept: 'text/html', ...headers } });

const post = (
  ask: Served['ask'],
  path: string,
  fields: Record<string, string>,
  headers = {},
): Promise<Answered> =>
  ask(path, {
    method: 'POST',
    headers: { ...FORM, ...headers },
    body: String(new URLSearchParams(fields)),
  });

const tokenIn = ({ body }: Answered): string => /name="form_token" value="([\w-]{43})"/.exec(body)?.[1] ?? '';

const words = ({ body }: Answered): string =>
  body
    .replaceAll('\n', ' ')
    .replaceAll(/<[^>]+>|\u00A0/g, ' ')
    .replaceAll(/ +/g, ' ');

const count = async ({ mirror }: Served): Promise<number> =>
  (await mirror.database.query<{ n: number }>('SELECT count(*) AS n FROM sync_requests'))[0]?.n ?? 0;

test('an order is placed, followed and cancelled by forms alone', async () => {
  const all = await served();
  const { ask, mirror, clock, sync } = all;
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  const engine = await get(ask, '/engine');
  expect(words(engine)).toContain('To read all lists takes 9 requests;');
  const form_token = tokenIn(engine);
  const fields = { form_token, kind: 'resync', list: 'conversations', inbox: inbox!.id };
  const placed = await post(ask, '/engine/orders', fields);
  expect([placed.status, placed.headers.location]).toEqual([303, '/engine/orders/2']);
  const { orders, passes } = { orders: mirrorOn(mirror.database).orders, passes: mirror.writer.passes };
  expect(await orders.read(2)).toMatchObject({
    kind: 'resync',
    lists: ['conversations'],
    inboxId: inbox!.id,
    acceptDeletes: false,
    requestedBy: 'a person, on the web page',
    state: 'open',
  });
  const again = await post(ask, '/engine/orders', fields);
  expect(again.headers.location, 'it joins the same order').toBe('/engine/orders/2');
  const waiting = await get(ask, '/engine/orders/2');
  expect(words(waiting)).toMatch(
    /Order resync Inbox Support By a person, on the web page Placed just now .* State waits /,
  );
  expect(waiting.body).toContain('http-equiv="refresh" content="3"');
  clock.advance(2000);
  await passes.begin((await orders.read(2))!, clock.now());
  expect(words(await get(ask, '/engine/orders/2'))).toMatch(/State under way Cancel this order/);
  const cancelled = await post(ask, '/engine/orders/2/cancel', { form_token });
  expect([cancelled.status, cancelled.headers.location]).toEqual([303, '/engine/orders/2']);
  clock.advance(2000);
  await passes.end(2, { state: 'done', error: null, report: {} }, clock.now());
  expect(await orders.read(2), 'its last page came with the cancel').toMatchObject({ state: 'abandoned' });
  await mirror.database.execute(
    `INSERT INTO sweeps (list, inbox_id, reason, state, pages, started_at, heartbeat_at)
     SELECT 'conversations', inbox_id, 'resync', 'running', 2, started_at, started_at FROM sync_requests WHERE id = 2`,
  );
  const ended = await get(ask, '/engine/orders/2');
  expect(words(ended)).toContain('read in part; the next reading continues there');
  expect(words(ended)).toContain('State a person cancelled it');
  expect(ended.body).not.toMatch(/http-equiv="refresh"|Cancel this order/);
  expect(words(await get(ask, '/engine'))).toContain('2: resync Support a person, on the web page');
});

test("an order's page says until when the daemon waits with it, and why", async () => {
  const { ask, mirror, clock, sync } = await served();
  await sync();
  const { orders } = mirrorOn(mirror.database);
  const { id } = await orders.place(passSpec({ kind: 'resync' }), clock.now());
  await mirror.writer.passes.begin((await orders.read(id))!, clock.now());
  const now = clock.now();
  await mirror.database.execute(
    `UPDATE leases SET command = 'inbox-mirror start', expires_at = $1, heartbeat_at = $2`,
    iso(now + 20_000),
    iso(now),
  );
  await mirror.database.execute(
    `INSERT INTO gate_state (id, strikes, paused_at, paused_until) VALUES (1, 3, $1, $2)
     ON CONFLICT (id) DO UPDATE SET strikes = 3, paused_at = $1, paused_until = $2`,
    iso(now),
    iso(now + 5 * 60_000),
  );
  const waits = 'waits (breaker), resumes in 5 min';
  expect(words(await get(ask, `/engine/orders/${id}`))).toContain(`State ${waits} Cancel this order`);
  expect(words(await get(ask, '/engine'))).toContain(waits);
});

test("an order's page shows its lists, what was new in them, and when it ended", async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  const placed = await post(ask, '/engine/orders', {
    form_token: tokenIn(await get(ask, '/engine')),
    kind: 'resync',
    list: '',
    inbox: '',
  });
  const order = await mirrorOn(mirror.database).orders.next();
  clock.advance(60_000);
  await sync(order!);
  const page = words(await get(ask, String(placed.headers.location)));
  expect(page).toMatch(/Begun .* Ended just now State done/);
  expect(page).toMatch(/Support conversations \d 230 0 0 0 complete/);
});

test('the daemon places and cancels no order for a strange form or another value', async () => {
  const all = await served();
  await all.sync();
  const form_token = tokenIn(await get(all.ask, '/engine'));
  const fields = { kind: 'resync', list: '', inbox: '', form_token };
  for (const [what, given, headers] of [
    ['a form without the token', { form_token: '' }, {}],
    ['a form with another token', { form_token: 'A'.repeat(43) }, {}],
    ['a form of another site', {}, { origin: 'https://other.example' }],
    ['a form of another port of this host', {}, { 'sec-fetch-site': 'same-site' }],
    ['a form from before another login', {}, { cookie: 'inbox-mirror=1.other' }],
  ] as const)
    for (const path of ['/engine/orders', '/engine/orders/1/cancel']) {
      const { status, body } = await post(all.ask, path, { ...fields, ...given }, headers);
      expect([status, body.includes('</html>')], `${what} to ${path}`).toEqual([403, true]);
    }
  for (const wrong of [{ kind: 'drop' }, { list: 'changes' }, { inbox: '1' }])
    expect((await post(all.ask, '/engine/orders', { ...fields, ...wrong })).status).toBe(400);
  expect((await post(all.ask, '/engine/orders/x/cancel', { form_token })).status).toBe(400);
  expect(await count(all), 'that of the sync').toBe(1);
  for (const path of ['/engine/orders/7', '/engine/orders/x', '/engine/orders/99999999999'])
    expect((await get(all.ask, path)).status, path).toBe(404);
});

test('a person who has not logged in places no order', async () => {
  const guarded = await served({}, { token: 't0ken.of~endpoints' });
  const sent = await post(guarded.ask, '/engine/orders', { kind: 'sync', list: '', inbox: '' });
  expect([sent.status, sent.headers.location]).toEqual([303, '/login?to=%2F']);
  expect(await count(guarded)).toBe(0);
});

test('a daemon whose database does not let it work takes no order, and says why', async () => {
  let fault: string | null = null;
  const all = await served({}, { fault: () => fault });
  await all.sync();
  const form_token = tokenIn(await get(all.ask, '/engine'));
  const before = await count(all);
  fault = 'The file mirror.db was deleted.';
  const refused = await post(all.ask, '/engine/orders', { form_token, kind: 'resync', list: '', inbox: '' });
  expect(refused.status).toBe(503);
  expect(words(refused)).toContain('The daemon takes no orders now The file mirror.db was deleted.');
  expect(await count(all)).toBe(before);
  expect((await post(all.ask, '/engine/orders/1/cancel', { form_token })).status).toBe(503);
});
