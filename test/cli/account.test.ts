import { expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { startDaemon } from '../support/daemon-process.ts';
import { SECRET, testProgram, type TestProgram } from '../support/program.ts';

/** A program whose mirror has one account while its address leads to another. */
async function behindAnother(conversations: number[] = [4, 3, 2, 1]): Promise<TestProgram> {
  const program = await testProgram({ conversations: [4, 3, 2, 1] });
  expect((await program.run('sync')).exitCode).toBe(0);
  const other = createSandbox({ rate: 0, perDay: 0, key: SECRET, seed: 7, conversations });
  const { url, close } = await other.listen();
  onTestFinished(() => close());
  program.env['INBOX_API_URL'] = url;
  return program;
}

const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');

test('doctor notices another account behind the address, with its one request', async () => {
  const program = await behindAnother();
  const { exitCode, stdout } = await program.run('doctor');
  expect(exitCode).toBe(2);
  expect(flat(stdout)).toMatch(/failed account The service shows another account than this mirror's/);
});

test('doctor does not call an account without inboxes the mirror’s', async () => {
  const program = await behindAnother([]);
  const { stdout } = await program.run('doctor');
  expect(flat(stdout)).toContain('skipped account the service lists no inbox of the mirror: a sync decides');
});

test('doctor does not call an account that a consent has replaced the mirror’s', async () => {
  const program = await testProgram({ conversations: [4, 3] });
  const { world } = program.sandbox;
  const replaced = [...world.inboxes.keys()];
  await program.run('sync');
  for (const id of replaced) world.removeInbox(id);
  const { id: next } = world.addInbox({ email: 'only@other.example' });
  expect((await program.run('sync', '--accept-account')).exitCode).toBe(0);
  for (const id of replaced) world.restoreInbox(id);
  world.removeInbox(next);
  const { stdout } = await program.run('doctor');
  expect(flat(stdout)).toContain('skipped account the service lists inboxes that a consent has replaced');
});

test('doctor leaves a list without ids to the next sync, which asks for the inboxes by id', async () => {
  const program = await testProgram({ conversations: [4] });
  const { faults, world } = program.sandbox;
  await program.run('sync');
  world.addInbox();
  faults.set('/inboxes', 'nameless');
  const { exitCode, stdout } = await program.run('doctor');
  expect(exitCode).toBe(0);
  expect(flat(stdout)).toContain('skipped account the service lists an inbox without an id: a sync decides');
  expect((await program.run('sync')).stderr).not.toContain('shows another account');
});

test('doctor knows the mirror’s account, and leaves an empty mirror to its first sync', async () => {
  const program = await testProgram();
  expect(flat((await program.run('doctor')).stdout)).toContain('skipped account the mirror is empty');
  await program.run('sync');
  expect(flat((await program.run('doctor')).stdout)).toContain("ok account is the mirror's");
});

test('a renewed key of the same account just works, for one more request', async () => {
  const program = await testProgram({ conversations: [4, 3] });
  await program.run('sync');
  const key = 'renewed-key-of-the-account';
  program.env['INBOX_API_KEY'] = key;
  const same = createSandbox({ rate: 0, perDay: 0, key, conversations: [4, 3] });
  const { url, close } = await same.listen();
  onTestFinished(() => close());
  program.env['INBOX_API_URL'] = url;
  const sync = async (): Promise<number> => (await program.run('sync', 'tags', '--inbox', '20117')).exitCode;
  expect([await sync(), same.arrivals.length]).toEqual([0, 2]);
  expect([await sync(), same.arrivals.length]).toEqual([0, 3]);
});

test.each(['sync', 'start'])(
  'a key that a wrong address has refused is sent to the corrected one at once, by %s',
  async (command) => {
    const program = await testProgram({ inboxes: 1, conversations: 3 });
    const right = program.env['INBOX_API_URL'] ?? '';
    const wrong = createSandbox({ rate: 0, perDay: 0, key: 'of-another-service' });
    const { url, close } = await wrong.listen();
    onTestFinished(() => close());
    program.env['INBOX_API_URL'] = url;
    expect((await program.run('sync')).exitCode).toBe(3);

    program.env['INBOX_API_URL'] = right;
    if (command === 'sync') expect((await program.run('sync')).exitCode).toBe(0);
    else await startDaemon(program).said(/first copy complete/);
    expect(flat((await program.run('status')).stdout)).toContain('requests flowing');
    expect(wrong.arrivals).toHaveLength(1);
  },
);

test('sync exits with 2 and status with 5 until a person accepts the account, once', async () => {
  const program = await behindAnother();
  const refused = await program.run('sync');
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain('inbox-mirror sync --accept-account');
  const json = JSON.parse((await program.run('sync', 'tags', '--json')).stdout) as unknown;
  expect(json).toMatchObject({ complete: false, stopped: { code: 'OTHER_ACCOUNT' } });

  const status = await program.run('status');
  expect(status.exitCode).toBe(5);
  expect(flat(status.stdout)).toMatch(
    /account not the mirror's, found (just now|\d+ s ago); the next `sync`, or a daemon, tests it again/,
  );

  expect((await program.run('sync', '--accept-account')).exitCode).toBe(0);
  expect((await program.run('sync')).exitCode).toBe(0);
  expect((await program.run('status')).exitCode).toBe(0);
});

test('a consent is not given to another account, which a daemon with another access sees', async () => {
  const program = await testProgram({ conversations: [4, 3] });
  const daemon = startDaemon(program);
  await daemon.said(/first copy complete/);
  const other = createSandbox({ rate: 0, perDay: 0, key: SECRET, seed: 7, conversations: [4, 3] });
  const { url, close } = await other.listen();
  onTestFinished(() => close());
  program.env['INBOX_API_URL'] = url;
  const refused = await program.run('sync', '--accept-account');
  expect(refused.exitCode).toBe(2);
  expect(flat(refused.stderr)).toContain('The daemon reads the service with another key or address than the');
  expect(other.arrivals).toEqual([]);
  // An order that waits for a daemon keeps the access of its command.
  expect((await program.run('sync', '--accept-account', '--detach')).exitCode).toBe(0);
  await daemon.said(/order failed/);

  daemon.process.kill('SIGTERM');
  await daemon.ended;
  startDaemon(program);
  expect((await program.run('sync', '--accept-account')).exitCode).toBe(0);
  expect(other.arrivals.length).toBeGreaterThan(5);
});
