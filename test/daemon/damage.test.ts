import { renameSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../support/daemon-process.ts';
import { mirrorFile, testProgram } from '../support/program.ts';

/** Points a table of the open file to another page, as a damaged sector would. @returns its repair */
function damage(path: string): () => void {
  const database = new Sqlite(path);
  onTestFinished(() => void database.close());
  database.unsafeMode();
  database.pragma('busy_timeout = 5000');
  const [{ rootpage } = { rootpage: 0 }] = database
    .prepare<[], { rootpage: number }>(`SELECT rootpage FROM sqlite_schema WHERE name = 'conversations'`)
    .all();
  const write = (page: number): void => {
    database.pragma('writable_schema = ON');
    database.prepare(`UPDATE sqlite_schema SET rootpage = ? WHERE name = 'conversations'`).run(page);
    const version = Number(database.pragma('schema_version', { simple: true }));
    database.pragma(`schema_version = ${version + 1}`);
    database.pragma('writable_schema = RESET');
  };
  write(1_000_000);
  return () => write(rootpage);
}

/** A daemon that has begun to serve and then meets damage. */
async function damagedDaemon() {
  const program = await testProgram(
    { inboxes: 1, conversations: 30 },
    { SCHEDULE_CONVERSATIONS: '* * * * * *', SCHEDULE_INBOXES: '* * * * * *' },
  );
  const daemon = startDaemon(program);
  const { address } = await daemon.said(/^answering/);
  const health = async (): Promise<{ status: number; body: Record<string, unknown> }> => {
    const answer = await fetch(`${String(address)}/healthz`);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  await daemon.said(/conversations of inbox \d+ complete/);
  const repair = damage(mirrorFile(program));
  const parked = await daemon.said(/sends nothing more .* restore a backup/);
  expect(parked['cause']).toMatch(/is damaged, or .* First .* again.* If .* restore a backup/);
  expect(await health()).toEqual({
    status: 503,
    body: expect.objectContaining({ status: 'failed', database: parked['cause'] }) as unknown,
  });
  return { program, daemon, health, repair };
}

test('on a damaged database the daemon sends nothing more, /healthz says why, a restart continues', async () => {
  const { program, daemon, health, repair } = await damagedDaemon();
  const arrived = program.sandbox.arrivals.length;
  // The first check of the file.
  const checked = await daemon.said(/not found the file whole/);
  expect(checked['cause']).toContain('is damaged');
  const uptime = async (): Promise<number> => Number((await health()).body['uptime_seconds']);
  const since = await uptime();
  await expect.poll(uptime).toBeGreaterThan(since + 3);
  expect((await health()).status).toBe(503);
  expect(program.sandbox.arrivals.length).toBe(arrived);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  repair();
  const next = startDaemon(program, { READ_PAGES: 'off' });
  await next.said(/conversations of inbox \d+ complete/);
  next.process.kill('SIGTERM');
  expect(await next.ended).toBe(0);
});

test('a daemon whose file is whole after all, as after one failed reading of the disk, resumes', async () => {
  const { program, daemon, health, repair } = await damagedDaemon();
  repair();
  await daemon.said(/^the file is whole; resuming/);
  const arrived = program.sandbox.arrivals.length;
  await expect.poll(() => program.sandbox.arrivals.length).toBeGreaterThan(arrived);
  await expect.poll(async () => (await health()).status).toBe(200);
  expect((await health()).body).toMatchObject({ status: 'ok', role: 'active' });
  expect(daemon.log.filter(({ msg }) => msg.startsWith('started'))).toHaveLength(2);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
});

test('a damaged file that a person replaces under the parked daemon is left alone', async () => {
  const { program, daemon, health, repair } = await damagedDaemon();
  repair();
  const path = mirrorFile(program);
  const copy = new Sqlite(path, { readonly: true });
  copy.exec(`VACUUM INTO '${path}.backup'`);
  copy.close();
  renameSync(`${path}.backup`, path);
  const { cause } = await daemon.said(/do what the cause says/);
  expect(cause).toMatch(/was deleted, replaced or made smaller/);
  expect((await health()).body['database']).toBe(cause);
  const arrived = program.sandbox.arrivals.length;
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  expect(program.sandbox.arrivals.length).toBe(arrived);
});
