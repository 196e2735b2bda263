import { expect, test } from 'vitest';
import { HOUR, SECOND } from '../../src/core/clock.ts';
import { createSessions } from '../../src/web/login/session.ts';
import { type Answered, type Served, served } from '../daemon/http/served.ts';

const TOKEN = 't0ken.of~endpoints';
const FORM = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' };

const logIn = (ask: Served['ask'], token: string, headers = {}, to = '/people'): Promise<Answered> =>
  ask('/login', {
    method: 'POST',
    headers: { ...FORM, ...headers },
    body: String(new URLSearchParams({ token, to })),
  });

const cookieOf = ({ headers }: Answered): string => String(headers['set-cookie']).replace(/;.*/, '');

test('with a token a page leads to the login, and from there back to the page', async () => {
  const { ask } = await served({}, { token: TOKEN });
  const sent = await ask('/?x=1', { headers: { accept: 'text/html' } });
  expect([sent.status, sent.headers.location]).toEqual([303, '/login?to=%2F%3Fx%3D1']);
  const form = await ask(String(sent.headers.location));
  expect(form.body).toContain('name="to" value="/?x=1"');
  const inside = await logIn(ask, TOKEN, {}, '/?x=1');
  expect([inside.status, inside.headers.location]).toEqual([303, '/?x=1']);
});

test('the cookie of a login opens the pages and the endpoints, and shows nothing of the token', async () => {
  const { ask } = await served({}, { token: TOKEN });
  const answer = await logIn(ask, TOKEN);
  expect(String(answer.headers['set-cookie'])).toMatch(
    /^inbox-mirror=\d+\.[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  const headers = { cookie: `a=b; ${cookieOf(answer)}`, accept: 'text/html' };
  for (const path of ['/', '/changes', '/status.json', '/metrics'])
    expect((await ask(path, { headers })).status, path).toBe(200);
  expect((await ask('/', { headers })).body).toContain('Log out');
  expect(JSON.stringify(answer.headers)).not.toContain(TOKEN);
  const secure = await logIn(ask, TOKEN, { 'x-forwarded-proto': 'https' });
  expect(String(secure.headers['set-cookie'])).toMatch(/; Secure$/);
});

test('a wrong token is refused, and counts with those of headers', async () => {
  const { ask, clock } = await served({}, { token: TOKEN });
  for (let tries = 0; tries < 20; tries += 1) {
    const { status, headers, body } = await logIn(ask, 'another-token-of-16');
    expect([status, headers['set-cookie']]).toEqual([401, undefined]);
    expect(body).toContain('This is not the token.');
  }
  clock.advance(60_000);
  const blocked = await logIn(ask, TOKEN);
  expect(blocked.status).toBe(429);
  expect(blocked.body).toContain('Too many wrong tokens came from here. Log in again in 9 min.');
  expect((await ask('/metrics', { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(429);
});

test('a session ends after 12 hours, with another token, and by a changed cookie', () => {
  let now = 1_000_000;
  const sessions = createSessions(TOKEN, () => now);
  const cookie = sessions.issue(false).replace(/;.*/, '');
  expect(sessions.has(cookie)).toBe(true);
  expect(createSessions(`${TOKEN}x`, () => now).has(cookie)).toBe(false);
  const [end = '', signature = ''] = cookie.replace('inbox-mirror=', '').split('.');
  for (const forged of [
    `inbox-mirror=${Number(end) + HOUR}.${signature}`,
    `inbox-mirror=${end}.${'A'.repeat(43)}`,
    `inbox-mirror=${end}.${signature.slice(1)}`,
    `x${cookie}`,
    'inbox-mirror=',
    undefined,
  ])
    expect(sessions.has(forged)).toBe(false);
  now += 12 * HOUR;
  expect(sessions.has(cookie)).toBe(false);
});

test('a session ends if the clock is set back by hours, so that none lasts longer than 12 hours', () => {
  let now = 1_000_000 + 400 * 24 * HOUR;
  const sessions = createSessions(TOKEN, () => now);
  const cookie = sessions.issue(false).replace(/;.*/, '');
  now -= SECOND;
  expect(sessions.has(cookie)).toBe(true);
  now -= 400 * 24 * HOUR;
  expect(sessions.has(cookie)).toBe(false);
});

test('logging out removes the cookie', async () => {
  const { ask } = await served({}, { token: TOKEN });
  const { status, headers } = await ask('/logout', { method: 'POST', headers: FORM, body: '' });
  expect([status, headers.location]).toEqual([303, '/login']);
  expect(String(headers['set-cookie'])).toContain('inbox-mirror=; Max-Age=0;');
});

test.each([
  [{ origin: 'https://other.example' }],
  [{ origin: 'null' }],
  [{ 'sec-fetch-site': 'cross-site' }],
  [{ 'sec-fetch-site': 'same-site' }],
])('the form takes no post of another site: %o', async (headers) => {
  const { ask } = await served({}, { token: TOKEN });
  const { status, headers: answered } = await logIn(ask, TOKEN, headers);
  expect([status, answered['set-cookie']]).toEqual([403, undefined]);
});

const ELSEWHERE = ['https://other.example/', '//other.example', '/\\other.example', 'javascript:alert(1)'];

test.each([...ELSEWHERE, '/a b', '/é', '/😀', '/\u0001'])(
  'the login leads to no other place: %s',
  async (to) => {
    const { ask } = await served({}, { token: TOKEN });
    expect((await logIn(ask, TOKEN, {}, to)).headers.location).toBe('/');
  },
);

test('without a token there is no form, and the endpoints take no POST', async () => {
  const { ask } = await served();
  expect((await ask('/login', { headers: { accept: 'text/html' } })).status).toBe(404);
  expect((await logIn(ask, TOKEN)).status).toBe(405);
});

test('a form of more than 4 KB is refused', async () => {
  const { ask } = await served({}, { token: TOKEN });
  expect((await logIn(ask, 'x'.repeat(5000))).status).toBe(413);
});
