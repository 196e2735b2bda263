import { once } from 'node:events';
import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../../../src/database/open.ts';
import { targetOf } from '../../../../src/mirror/mirror.ts';
import { temporaryFolder } from '../../../support/mirror.ts';
import { newProgram } from '../../../support/program.ts';

const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes long').toString('base64')}`;

/** A receiver that verifies each delivery as Standard Webhooks says, and answers with `status`. */
async function receiver(status: number): Promise<{ url: string; taken: unknown[] }> {
  const taken: unknown[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      taken.push(new Webhook(WEBHOOK_SECRET).verify(body, request.headers as Record<string, string>));
      response.writeHead(status).end();
    })();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`, taken };
}

test('doctor --webhook sends one signed delivery without changes, and moves no place in the feed', async () => {
  const { url, taken } = await receiver(204);
  const program = await newProgram({ inboxes: 1 }, { WEBHOOK_URL: url, WEBHOOK_SECRET });
  await program.run('sync');
  const { exitCode, stdout } = await program.run('doctor', '--webhook');
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/ok +webhook +accepts .*\(HTTP 204/)]);
  expect(taken).toEqual([
    { type: 'webhook.test', timestamp: expect.stringMatching(/Z$/) as string, data: { changes: [] } },
  ]);
  expect(JSON.parse((await program.run('query', 'SELECT * FROM webhooks', '--json')).stdout)).toEqual([]);
  await program.run('doctor');
  expect(taken).toHaveLength(1);
});

test.each([204, 500])(
  'doctor --webhook ends the wait of the deliveries if the receiver accepts it: HTTP %i',
  async (status) => {
    const { url } = await receiver(status);
    const program = await newProgram({ inboxes: 1 }, { WEBHOOK_URL: url, WEBHOOK_SECRET });
    await program.run('sync');
    const retryAt = '2100-01-01T00:00:00.000+00:00';
    const database = await openDatabase(`file:${join(program.folder, 'mirror.db')}`);
    onTestFinished(() => database.close());
    await database.execute(
      `INSERT INTO webhooks (target, last_id, failures, retry_at, cause, updated_at)
       VALUES ($1, 0, 4, $2, 'HTTP 401', $2)`,
      targetOf(url),
      retryAt,
    );
    const { stdout } = await program.run('doctor', '--webhook');
    expect(stdout.includes('changes that wait follow within a minute')).toBe(status === 204);
    const [row] = await database.query<{ retry_at: Date }>('SELECT retry_at FROM webhooks');
    expect(row!.retry_at.getTime() > Date.now()).toBe(status === 500);
  },
);

test('doctor --webhook fails for a receiver that refuses, and where there is none', async () => {
  const { url } = await receiver(401);
  const program = await newProgram({ inboxes: 1 }, { WEBHOOK_URL: url, WEBHOOK_SECRET });
  const refused = await program.run('doctor', '--webhook');
  expect([refused.exitCode, refused.stdout]).toEqual([
    1,
    expect.stringMatching(/failed +webhook +does not accept a signed test delivery: HTTP 401[^]*ok +service/),
  ]);
  expect(refused.stdout).toContain('1 check failed.');
  delete program.env['WEBHOOK_URL'];
  delete program.env['WEBHOOK_SECRET'];
  const none = await program.run('doctor', '--webhook');
  expect([none.exitCode, none.stdout]).toEqual([2, expect.stringContaining('WEBHOOK_URL is not set')]);
});

test('doctor fails where start would: a file that is no database, a page without a token for the network', async () => {
  const program = await newProgram({ inboxes: 1 });
  writeFileSync(
    join(program.folder, 'text.db'),
    'no database, but more than one hundred bytes of text. '.repeat(4),
  );
  program.env['DATABASE_URL'] = 'file:text.db';
  const commands = [['doctor'], ['query', 'SELECT 1'], ['changes']];
  for (const command of commands) {
    const { exitCode, stdout, stderr } = await program.run(...command);
    expect([exitCode, stdout + stderr]).toEqual([
      2,
      expect.stringMatching(/text\.db is not an\s+SQLite database/),
    ]);
  }
  delete program.env['DATABASE_URL'];
  program.env['HTTP_HOST'] = '0.0.0.0';
  const { exitCode, stdout } = await program.run('doctor');
  expect([exitCode, stdout]).toEqual([2, expect.stringContaining('HTTP_TOKEN_FILE')]);
});

test('doctor does not take half a mirror for none, and no reader takes it for wrong SQL', async () => {
  const program = await newProgram({ inboxes: 1 });
  await program.run('sync');
  const path = join(program.folder, 'mirror.db');
  truncateSync(path, Math.floor(statSync(path).size / 2));
  const { exitCode, stdout } = await program.run('doctor');
  expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/failed +database +.*is damaged/)]);
  expect(await program.run('status')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('is damaged') as string,
  });
});

test('doctor counts every variable that its configuration error lists', async () => {
  const program = await newProgram({}, { REQUEST_PER_DAY: '10', LOG_LEVEL: 'loud', HTTP_PORT: 'x' });
  const { exitCode, stdout } = await program.run('doctor');
  const [, count, listed = ''] = /has (\d+) problems:\n([^]*?)\n +Set the variables/.exec(stdout) ?? [];
  expect([exitCode, Number(count)]).toEqual([2, 3]);
  expect(listed.split('\n')).toHaveLength(3);
});

test('commands that follow a doctor without a mirror at once keep the gap to its request', async () => {
  const program = await newProgram({ inboxes: 1, rate: 4 }, { REQUESTS_PER_SECOND: '4' });
  for (const command of [['doctor'], ['doctor'], ['sync', 'inboxes']])
    expect((await program.run(...command)).exitCode).toBe(0);
  expect(program.sandbox.arrivals.map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('a doctor that fails without a mirror leaves no temporary folder', async () => {
  const program = await newProgram({ inboxes: 1 }, { HTTP_HOST: '0.0.0.0' });
  vi.stubEnv('TMPDIR', temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  expect((await program.run('doctor')).exitCode).toBe(2);
  expect(readdirSync(tmpdir())).toEqual([]);
});

test('doctor says that the gate is open only when status would', async () => {
  const program = await newProgram({ inboxes: 1 });
  await program.run('sync');
  program.env['INBOX_API_KEY'] = 'another-key';
  const { exitCode, stdout } = await program.run('doctor');
  expect([exitCode, stdout]).toEqual([3, expect.stringMatching(/warning +gate +shut for the daemon/)]);
  expect((await program.run('status')).stdout).toContain('requests stopped');
});
