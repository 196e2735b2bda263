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

test('on a damaged database the daemon sends nothing more, /healthz says why, a restart continues', async () => {
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
  const parked = await daemon.said(/restore a backup/);
  expect(parked['cause']).toContain('is damaged');
  const { status, body } = await health();
  expect([status, body]).toEqual([
    503,
    expect.objectContaining({ status: 'failed', database: expect.stringContaining('is damaged') as string }),
  ]);
  const arrived = program.sandbox.arrivals.length;
  const uptime = async (): Promise<number> => Number((await health()).body['uptime_seconds']);
  const since = await uptime();
  await expect.poll(uptime).toBeGreaterThan(since + 3);
  expect(program.sandbox.arrivals.length).toBe(arrived);
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toBe(0);
  repair();
  const next = startDaemon(program, { READ_PAGES: 'off' });
  await next.said(/conversations of inbox \d+ complete/);
  next.process.kill('SIGTERM');
  expect(await next.ended).toBe(0);
});
