import { expect, onTestFinished, test } from 'vitest';
import { startServer } from '../../prisma/embedded.ts';
import { type DaemonProcess, startDaemon } from '../support/daemon-process.ts';
import { newPlace, temporaryDatabase } from '../support/mirror.ts';
import { onServer } from '../support/provider.ts';
import { testProgram } from '../support/program.ts';
import { count, firstInbox } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

const COMPLETE = /^conversations of inbox \d+ complete/;

/** The answer of one of the daemon's endpoints. */
async function ask(daemon: DaemonProcess, path: string): Promise<{ status: number; body: string }> {
  const { address } = await daemon.said(/^answering/);
  const answer = await fetch(String(address) + path);
  return { status: answer.status, body: await answer.text() };
}

async function roleOf(daemon: DaemonProcess): Promise<unknown> {
  return (JSON.parse((await ask(daemon, '/healthz')).body) as { role: unknown }).role;
}

test('start syncs, runs an order, yields to a standby after a kill, and exits 0 on SIGTERM', async () => {
  const url = `${await newPlace()}?schema=mirror`;
  const program = await testProgram({ conversations: [30] }, { DATABASE_URL: url, READ_PAGES: 'off' });
  const first = startDaemon(program);
  await first.said(COMPLETE);
  expect(first.stdout()).toMatch(/inboxes +0 \* \* \* \* +.*\n/);
  const database = await temporaryDatabase(url);
  await expectEqualToService({ database, sandbox: program.sandbox });

  const inbox = firstInbox(program.sandbox);
  program.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'another');
  const { exitCode, stdout, stderr } = await program.run('sync', 'conversations');
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('The daemon does this as order 1')]);
  expect(stdout).toMatch(/conversations +30 +0 +1 +0 +complete/);
  await expectEqualToService({ database, sandbox: program.sandbox });

  expect(await roleOf(first)).toBe('active');
  const metrics = (await ask(first, '/metrics')).body;
  expect(metrics).toContain('inbox_mirror_lease_held 1');
  expect(Number(/^inbox_mirror_database_bytes (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(100_000);

  const second = startDaemon(program);
  expect((await second.said(/standing by/)).msg).toContain(`process ${first.pid}`);
  expect(await roleOf(second)).toBe('standby');
  first.process.kill('SIGKILL');
  await second.said(/^took over/);
  await second.said(/^started/);
  expect(await roleOf(second)).toBe('active');
  program.sandbox.world.setStatus(inbox.id, inbox.conversations.order[1]!, 'another');
  expect((await program.run('sync', 'conversations')).exitCode).toBe(0);
  await expectEqualToService({ database, sandbox: program.sandbox });
  second.process.kill('SIGTERM');
  expect(await second.ended).toBe(0);
  expect(await count(database, `leases WHERE name = 'writer'`)).toBe(0);
  for (const form of [new URL(url).password, decodeURIComponent(new URL(url).password)])
    for (const daemon of [first, second]) expect(daemon.errors() + daemon.stdout()).not.toContain(form);
});

test('the daemon reports a restart of the database server and resumes within seconds', async () => {
  const server = await startServer();
  onTestFinished(() => server.remove());
  onTestFinished(() => server.stop());
  const program = await testProgram({ conversations: [30] }, { DATABASE_URL: server.url('postgres') });
  const daemon = startDaemon(program);
  await daemon.said(COMPLETE);
  await server.stop();
  await daemon.said(/^the database cannot be used/);
  expect((await ask(daemon, '/readyz')).status).toBe(503);
  await server.start();
  const since = performance.now();
  const inbox = firstInbox(program.sandbox);
  program.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'another');
  expect((await program.run('sync', 'conversations')).exitCode).toBe(0);
  await daemon.said(/^the database can be used again/);
  expect(performance.now() - since).toBeLessThan(20_000);
  await expectEqualToService({
    database: await temporaryDatabase(server.url('postgres')),
    sandbox: program.sandbox,
  });
  expect((await ask(daemon, '/readyz')).status).toBe(200);
  // The daemon also ends after its server, which a host's shutdown may stop first.
  await server.stop();
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
});

/** A daemon on a mirror whose schema is taken away and put back. */
async function expectParks(takesAway: string): Promise<void> {
  const place = await newPlace();
  const every = {
    SCHEDULE_CONVERSATIONS: '* * * * * *',
    SCHEDULE_INBOXES: '* * * * * *',
    READ_PAGES: 'off',
  };
  const program = await testProgram(
    { inboxes: 1, conversations: 30 },
    { DATABASE_URL: `${place}?schema=mirror`, ...every },
  );
  const daemon = startDaemon(program);
  await daemon.said(COMPLETE);

  await onServer(takesAway, place);

  const { cause } = await daemon.said(/sends nothing more/);
  expect(cause).toMatch(/has lost a table of the mirror: .* Put the schema back/);
  const arrived = program.sandbox.arrivals.length;
  const health = async (): Promise<Record<string, unknown>> =>
    JSON.parse((await ask(daemon, '/healthz')).body) as Record<string, unknown>;
  const { database, uptime_seconds: since } = await health();
  expect(database).toBe(cause);
  await expect
    .poll(async () => Number((await health())['uptime_seconds']))
    .toBeGreaterThan(Number(since) + 2);
  expect(program.sandbox.arrivals.length).toBe(arrived);
  await onServer('DROP SCHEMA IF EXISTS mirror; ALTER SCHEMA away RENAME TO mirror', place);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  const next = startDaemon(program);
  await next.said(COMPLETE);
  next.process.kill('SIGTERM');
  expect(await next.ended).toBe(0);
}

test('a daemon whose schema is renamed, or replaced by an empty one, parks, and resumes when it is back', async () => {
  // Side by side, because each waits for seconds.
  await Promise.all([
    expectParks('ALTER SCHEMA mirror RENAME TO away'),
    expectParks('ALTER SCHEMA mirror RENAME TO away; CREATE SCHEMA mirror'),
  ]);
});

test('a table that only another program’s trigger misses does not park the daemon', async () => {
  const place = await newPlace();
  const program = await testProgram(
    { inboxes: 1, conversations: 30 },
    {
      DATABASE_URL: `${place}?schema=mirror`,
      SCHEDULE_CONVERSATIONS: '* * * * * *',
      SCHEDULE_INBOXES: '* * * * * *',
      READ_PAGES: 'off',
    },
  );
  const daemon = startDaemon(program);
  await daemon.said(COMPLETE);
  await onServer(
    `CREATE FUNCTION mirror.audit() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN INSERT INTO public.audit VALUES (NEW.id); RETURN NEW; END';
     CREATE TRIGGER audit AFTER INSERT OR UPDATE ON mirror.conversations
       FOR EACH ROW EXECUTE FUNCTION mirror.audit()`,
    place,
  );
  const inbox = firstInbox(program.sandbox);
  program.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'another');
  const refused = /refuses a statement: .*public\.audit.* \(42P01\)\. Look for a trigger/;
  await expect.poll(() => daemon.errors(), { timeout: 20_000 }).toMatch(refused);
  const arrived = program.sandbox.arrivals.length;
  await expect.poll(() => program.sandbox.arrivals.length).toBeGreaterThan(arrived);
  expect((await ask(daemon, '/healthz')).status).toBe(200);
  expect(daemon.errors()).not.toMatch(/sends nothing more|has lost a table/);

  await onServer('CREATE TABLE public.audit (id text)', place);
  expect((await program.run('sync', 'conversations')).exitCode).toBe(0);
  await expectEqualToService({
    database: await temporaryDatabase(`${place}?schema=mirror`),
    sandbox: program.sandbox,
  });
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
});
