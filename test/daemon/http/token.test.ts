import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/core/clock.ts';
import { clientOf } from '../../../src/daemon/http/client-address.ts';
import { createTokenGuard } from '../../../src/daemon/http/token.ts';
import { startDaemon } from '../../support/daemon-process.ts';
import { testLog } from '../../support/log.ts';
import { testProgram } from '../../support/program.ts';
import { served } from './served.ts';

const TOKEN = 't0ken.of~endpoints';
const GUARDED = ['/changes', '/status.json', '/metrics'];

const bearer = (token: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}` },
});

test.each(GUARDED)('%s with a token configured answers 401 unless the request has it', async (path) => {
  const { ask, sync } = await served({}, { token: TOKEN });
  await sync();
  const without = [
    {},
    bearer('another-token-of-16'),
    bearer(`${TOKEN}x`),
    bearer(TOKEN.slice(0, -1)),
    bearer(''),
    { headers: { authorization: TOKEN } },
    { headers: { authorization: `Basic ${TOKEN}` } },
    { method: 'HEAD' },
  ];
  for (const options of without) {
    const { status, headers, body } = await ask(path, options);
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer realm="inbox-mirror"']);
    expect(body).not.toContain('inbox_id');
  }
  expect((await ask(path, { headers: { authorization: `bearer ${TOKEN}` } })).status).toBe(200);
  expect((await ask(path, bearer(TOKEN))).status).toBe(200);
  expect((await ask(`${path}?token=${TOKEN}`)).status, 'a token in an address is not read').toBe(401);
});

test('/healthz answers without the token, and /readyz then says only whether it is ready', async () => {
  const { ask, sync, clock } = await served({}, { token: TOKEN });
  expect((await ask('/healthz')).status).toBe(200);
  expect(await ask('/readyz')).toMatchObject({ status: 503, body: '{"ready":false}' });
  expect(await ask('/readyz', bearer('another-token-of-16'))).toMatchObject({ body: '{"ready":false}' });
  const { json } = await ask('/readyz', bearer(TOKEN));
  expect(json['not_fresh']).toMatchObject([{ list: 'inboxes' }]);
  await sync();
  clock.advance(1000);
  expect(await ask('/readyz')).toMatchObject({ status: 200, body: '{"ready":true}' });
});

test('after 20 wrong tokens in 10 minutes a client gets 429, from whichever address of this machine it asks', async () => {
  const { ask, clock, logged } = await served({}, { token: TOKEN });
  const wrong = bearer('another-token-of-16');
  for (let tries = 0; tries < 30; tries += 1)
    expect((await ask('/metrics')).status, 'a missing token is no guess').toBe(401);
  clock.advance(MINUTE);
  for (let tries = 0; tries < 20; tries += 1)
    expect((await ask(GUARDED[tries % 3] ?? '', { ...wrong, from: `127.0.0.${1 + tries}` })).status).toBe(
      401,
    );
  clock.advance(MINUTE);
  for (const guess of [wrong, bearer(TOKEN)]) {
    const { status, headers, json } = await ask('/metrics', guess);
    expect([status, headers['retry-after']]).toEqual([429, '540']);
    expect(json['error']).toContain('20 wrong tokens');
  }
  expect((await ask('/readyz', bearer(TOKEN))).body, 'no oracle either').toBe('{"ready":false}');
  expect((await ask('/healthz')).status).toBe(200);
  expect((await ask('/metrics', { ...bearer(TOKEN), from: '127.9.9.9' })).status).toBe(429);
  clock.advance(9 * MINUTE);
  expect((await ask('/metrics', bearer(TOKEN))).status).toBe(200);
  const refusals = logged.filter((line) => line.includes('wrong tokens'));
  expect(refusals, 'logged once').toHaveLength(1);
  expect(refusals.join('')).toContain('this machine');
});

test('the wrong tokens of one client do not stop another', () => {
  const guard = createTokenGuard({
    token: TOKEN,
    hasSession: () => false,
    clock: { monotonic: () => 0 },
    log: testLog().log,
  });
  const judge = (ip: string, token: string) => guard.judge({ ip } as FastifyRequest, token);
  for (let tries = 0; tries < 20; tries += 1)
    expect(judge(tries % 2 === 0 ? '127.0.0.1' : '::1', 'wrong')).toBe('refused');
  for (const ip of ['127.0.0.1', '::ffff:127.3.2.1', '::1']) expect(judge(ip, TOKEN), ip).toBe('blocked');
  for (const ip of ['10.0.0.7', '128.0.0.1', '::2', '2001:db8::7'])
    expect(judge(ip, TOKEN), ip).toBe('accepted');
});

test('no answer, no log line and no status contains the token', async () => {
  const { ask, sync, logged } = await served({}, { token: TOKEN });
  await sync();
  const paths = ['/', '/healthz', '/readyz', '/nowhere', ...GUARDED];
  const bodies = await Promise.all(
    paths.flatMap((path) => [bearer(TOKEN), bearer(`${TOKEN}x`), {}].map((options) => ask(path, options))),
  );
  const headers = bodies.map((answer) => JSON.stringify(answer.headers));
  expect(bodies.map(({ body }) => body).join('') + headers.join('') + logged.join('')).not.toContain(TOKEN);
});

test('the daemon serves the network with a token, and masks the token where an error repeats it', async () => {
  const program = await testProgram({ inboxes: 1 }, { HTTP_HOST: '0.0.0.0', HTTP_TOKEN: TOKEN });
  const plant = join(program.folder, 'plant.cjs');
  writeFileSync(plant, `process.on('SIGUSR2', () => { throw new Error('planted ${TOKEN}'); });`);
  const daemon = startDaemon(program, { NODE_OPTIONS: `--require ${plant}` });
  const { address } = await daemon.said(/^answering .* only to those who have the token$/);
  const url = String(address).replace('0.0.0.0', '127.0.0.1');
  expect((await fetch(`${url}/status.json`)).status).toBe(401);
  expect((await fetch(`${url}/status.json`, bearer(TOKEN))).status).toBe(200);
  await daemon.said(/conversations of inbox \d+ complete/);
  daemon.process.kill('SIGUSR2');
  expect(await daemon.ended).toBe(1);
  expect(daemon.errors()).toContain('planted');
  expect(daemon.errors() + daemon.stdout()).not.toContain(TOKEN);
  expect((await program.run('status', '--json')).stdout).not.toContain(TOKEN);
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.0.0.7', '10.0.0.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::7', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('tries from the address %s count for the client %s', (address, client) => {
  expect(clientOf(address)).toBe(client);
});
