// A process that opens a mirror in a thread, and closes it 6 times while the thread loads SQLite's driver:
//   node --import ./child-slow-driver.ts child-threads.ts DATABASE_PATH
// It prints the rows of a last question.
import { setTimeout as pause } from 'node:timers/promises';
import { openSqliteInThread } from '../../src/query/sqlite/thread.ts';

const [, , path = ''] = process.argv;
for (let round = 0; round < 6; round += 1) {
  const stop = new AbortController();
  const mirror = openSqliteInThread(path, stop.signal);
  const asked = mirror.query('SELECT 1').catch(() => undefined);
  await pause(300);
  stop.abort();
  await mirror.close();
  await asked;
}
const mirror = openSqliteInThread(path, new AbortController().signal);
const { rows } = await mirror.query('SELECT 1');
for await (const row of rows) console.log(JSON.stringify(row));
await mirror.close();
