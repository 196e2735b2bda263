import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createHttp } from '../../src/service/http.ts';
import { readConfig } from '../../src/session/config/config.ts';
import { AUTHORITY, EXPIRED, OTHER_NAME } from '../support/certificates.ts';
import { startDaemon } from '../support/daemon-process.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { mirrorFile, type TestProgram, testProgram } from '../support/program.ts';
import { serveHttp, serveHttps, serveProxy } from '../support/servers.ts';

/** No name has a label of 64 characters, so that no network is asked for it. */
const NO_NAME = `https://${'x'.repeat(64)}.example/v1`;

async function programFor(url: string, env: Record<string, string> = {}): Promise<TestProgram> {
  return await testProgram({ inboxes: 1, conversations: 3 }, { ...env, INBOX_API_URL: url });
}

/** Expects that `sync` and `doctor` report a wrong configuration after at most one request, without a wait. */
async function expectConfigError(program: TestProgram, advice: RegExp): Promise<void> {
  for (const command of ['sync', 'doctor']) {
    const begun = performance.now();
    const { exitCode, stdout, stderr } = await program.run(command);
    expect({ exitCode, said: stdout + stderr }).toMatchObject({
      exitCode: 2,
      said: expect.stringMatching(advice) as string,
    });
    expect(stdout + stderr).not.toMatch(/down or out of reach|retrying/);
    // The retries of an outage take 14 s.
    expect(performance.now() - begun).toBeLessThan(10_000);
  }
}

test('a name that does not resolve is a configuration error at once', async () => {
  await expectConfigError(await programFor(NO_NAME), /does not resolve.*Check INBOX_API_URL/s);
});

test('a certificate of an unknown authority is a configuration error, until INBOX_API_CA_FILE names it', async () => {
  const program = await programFor('');
  const url = `https://127.0.0.1:${await serveHttps(program.sandbox)}/v1`;
  program.env['INBOX_API_URL'] = url;
  await expectConfigError(program, /certificate.*INBOX_API_CA_FILE/s);

  writeFileSync(join(program.folder, 'ca.pem'), AUTHORITY);
  program.env['INBOX_API_CA_FILE'] = 'ca.pem';
  expect(await program.run('sync')).toMatchObject({ exitCode: 0 });
});

test('an expired certificate, and one for another name, each get a message of their own', async () => {
  const program = await programFor('');
  writeFileSync(join(program.folder, 'ca.pem'), EXPIRED.cert + OTHER_NAME.cert);
  program.env['INBOX_API_CA_FILE'] = 'ca.pem';
  program.env['INBOX_API_URL'] = `https://127.0.0.1:${await serveHttps(program.sandbox, EXPIRED)}/v1`;
  await expectConfigError(program, /has expired, or the clock.*INBOX_API_URL/s);
  program.env['INBOX_API_URL'] = `https://127.0.0.1:${await serveHttps(program.sandbox, OTHER_NAME)}/v1`;
  await expectConfigError(program, /is not for 127\.0\.0\.1\./);
});

test('http to a port of https is a configuration error, and https to a port of http', async () => {
  const program = await programFor('');
  program.env['INBOX_API_URL'] = `http://127.0.0.1:${await serveHttps(program.sandbox)}/v1`;
  await expectConfigError(program, /speaks https.*INBOX_API_URL/s);
  program.env['INBOX_API_URL'] = `https://127.0.0.1:${await serveHttp((_, response) => response.end())}/v1`;
  await expectConfigError(program, /without TLS.*INBOX_API_URL/s);
});

test('a refusal of plain http by a proxy in front of https is a configuration error', async () => {
  const port = await serveHttp((_, response) =>
    response
      .writeHead(400)
      .end('<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>'),
  );
  await expectConfigError(await programFor(`http://127.0.0.1:${port}/v1`), /speaks https.*INBOX_API_URL/s);
});

test('a web page in place of JSON is a configuration error that names the page', async () => {
  const port = await serveHttp((_, response) =>
    response.end('<html><title>Welcome to nginx!</title></html>'),
  );
  await expectConfigError(
    await programFor(`http://127.0.0.1:${port}/v1`),
    /"Welcome to nginx!".*INBOX_API_URL/s,
  );
});

test('a web page that interrupts a pass is retried, because the address has answered before', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 3 });
  let pages = 0;
  program.sandbox.script(({ path }) =>
    path.includes('/users') && (pages += 1) === 1 ? { status: 200, body: '<html>Maintenance' } : undefined,
  );
  expect(await program.run('sync')).toMatchObject({ exitCode: 0 });
});

test('a daemon whose address never answered exits with 2', async () => {
  const program = await programFor(NO_NAME, { HTTP_PORT: '0' });
  const { exitCode, stderr } = await program.run('start');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('does not resolve');
});

/** Waits until the daemon waits for the service, then stops it. */
async function expectPatience(daemon: ReturnType<typeof startDaemon>): Promise<void> {
  await daemon.said(/out of reach/);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
}

test('a daemon whose address has answered once waits while a web page answers, or no name is found', async () => {
  const [maintained, unnamed] = await Promise.all(
    [1, 2].map(async () => {
      const program = await testProgram({ inboxes: 1, conversations: 3 });
      await program.run('sync');
      return program;
    }),
  );
  maintained!.sandbox.script(() => ({ status: 200, body: '<html>Maintenance' }));
  const database = await temporaryDatabase(mirrorFile(unnamed!));
  await database.execute(`UPDATE settings SET value = $1 WHERE name = 'service_address'`, NO_NAME);
  // Side by side, because each tries for seconds.
  await Promise.all([
    expectPatience(startDaemon(maintained!, { SCHEDULE_INBOXES: '* * * * * *' })),
    expectPatience(startDaemon(unnamed!, { SCHEDULE_INBOXES: '* * * * * *', INBOX_API_URL: NO_NAME })),
  ]);
});

test('the answers of one address do not vouch for another', async () => {
  const program = await testProgram({ inboxes: 1 });
  await program.run('sync');
  const env = { SCHEDULE_INBOXES: '* * * * * *', INBOX_API_URL: NO_NAME, HTTP_PORT: '0' };
  Object.assign(program.env, env, { REQUESTS_PER_DAY: '200000' });
  expect((await program.run('start')).exitCode).toBe(2);
});

test('requests pass the proxies of the environment or of .env, except to the hosts of NO_PROXY', async () => {
  const program = await programFor('');
  const { port, seen } = await serveProxy();
  const secure = await serveHttps(program.sandbox);
  writeFileSync(join(program.folder, 'ca.pem'), AUTHORITY);
  const proxy = `http://me:pa55w0rd@127.0.0.1:${port}`;
  writeFileSync(join(program.folder, '.env'), `HTTPS_PROXY=${proxy}\nINBOX_API_CA_FILE=ca.pem\n`);
  program.env['INBOX_API_URL'] = `https://service.example:${secure}/v1`;
  expect(await program.run('sync', 'inboxes')).toMatchObject({ exitCode: 0 });
  expect(new Set(seen.splice(0))).toEqual(new Set([`CONNECT service.example:${secure} as me:pa55w0rd`]));

  program.env['NO_PROXY'] = 'a.example,service.example';
  // Without the proxy, no system knows the host.
  expect(await program.run('sync', 'inboxes')).toMatchObject({ exitCode: 2 });
  expect(seen).toEqual([]);

  program.env['INBOX_API_URL'] = 'https://denied.example/v1';
  const { exitCode, stderr } = await program.run('sync', 'inboxes');
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/407.*HTTPS_PROXY/s) as string,
  });
  expect(stderr).not.toContain('pa55w0rd');
});

test('with `node --use-env-proxy` a request passes its proxy once', async () => {
  const program = await programFor('', { NODE_USE_ENV_PROXY: '1' });
  const { port, seen } = await serveProxy();
  const secure = await serveHttps(program.sandbox);
  writeFileSync(join(program.folder, 'ca.pem'), AUTHORITY);
  const proxy = { HTTPS_PROXY: `http://127.0.0.1:${port}`, INBOX_API_CA_FILE: 'ca.pem' };
  program.env['INBOX_API_URL'] = `https://service.example:${secure}/v1`;
  const daemon = startDaemon(program, proxy);
  await daemon.said(/^inboxes complete/);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  expect(new Set(seen.splice(0))).toEqual(new Set([`CONNECT service.example:${secure} as `]));
});

test('plain http passes HTTP_PROXY, but never on the way to this machine', async () => {
  const program = await testProgram({ inboxes: 1 });
  const { port, seen } = await serveProxy();
  program.env['http_proxy'] = `127.0.0.1:${port}`;
  program.env['WEBHOOK_URL'] = (program.env['INBOX_API_URL'] ?? '').replace('/v1', '/hook');
  program.env['WEBHOOK_SECRET'] = `whsec_${Buffer.alloc(24).toString('base64')}`;
  expect(await program.run('sync', 'inboxes')).toMatchObject({ exitCode: 0 });
  expect((await program.run('doctor', '--webhook')).stdout).toMatch(/webhook.*HTTP 401/);
  expect(seen).toEqual([]);

  const named = (program.env['INBOX_API_URL'] ?? '').replace('127.0.0.1', 'service.example');
  program.env['INBOX_API_URL'] = named;
  program.env['ALLOW_HTTP'] = 'true';
  expect(await program.run('sync', 'inboxes')).toMatchObject({ exitCode: 0 });
  expect(seen).toEqual([`GET ${named}/inboxes?limit=100 as `]);
});

test.each(['127.0.0.1', '127.1.2.3', '0.0.0.0', 'localhost', 'LocalHost', 'a.localhost', '[::1]', '[::]'])(
  'no request to %s, which may carry the key in clear, passes a proxy',
  async (host) => {
    const { port, seen } = await serveProxy();
    const { proxyEnv } = readConfig(
      {
        INBOX_API_URL: `http://${host}:9/v1`,
        INBOX_API_KEY: 'k',
        HTTP_PROXY: `http://127.0.0.1:${port}`,
        NO_PROXY: 'a.example',
      },
      '/',
      { service: true },
    ).network;
    const http = createHttp(`http://${host}:9/v1`, () => 'k', { network: { proxyEnv, authority: null } });
    onTestFinished(() => http.close());
    await expect(http.get('/inboxes', {})).rejects.toThrow();
    expect(seen).toEqual([]);
  },
);
