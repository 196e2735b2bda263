import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../support/daemon-process.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { mirrorFile, testProgram } from '../support/program.ts';
import { count } from '../support/rows.ts';

test('every request to the service names the program and its version', async () => {
  const program = await testProgram({ inboxes: 1 });
  const agents = new Set<string | undefined>();
  program.sandbox.script(({ headers }) => void agents.add(headers['user-agent']));
  await program.run('sync');

  expect([...agents]).toEqual(['inbox-mirror/0.0.0-test']);
});

test('every delivery to the webhook names the program and its version', async () => {
  const program = await testProgram({ inboxes: 1 });
  const receiver = createServer((_request, response) => response.end());
  await new Promise<void>((resolve) => {
    receiver.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void receiver.close());
  const delivered = once(receiver, 'request') as Promise<[IncomingMessage]>;
  const daemon = startDaemon(program, {
    WEBHOOK_URL: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    SCHEDULE_CONVERSATIONS: '* * * * * *',
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  });
  await daemon.said(/conversations of inbox \d+ complete/);
  // The webhook gets the changes after its first entry.
  const database = await temporaryDatabase(mirrorFile(program));
  await expect.poll(() => count(database, 'webhooks')).toBe(1);
  program.sandbox.world.addConversation([...program.sandbox.world.inboxes.keys()][0] ?? '');

  const [{ headers }] = await delivered;

  const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  expect(headers['user-agent']).toBe(`inbox-mirror/${version}`);
  daemon.process.kill('SIGTERM');
  await daemon.ended;
});
