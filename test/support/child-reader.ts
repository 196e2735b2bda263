// A process that queries every view in a loop, read-only, until its stdin ends:
//   node child-reader.ts DATABASE_URL
// It prints the number of completed rounds.
import { createInterface } from 'node:readline';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import { openReadOnly } from '../../src/query/open.ts';

const stop = new AbortController();
createInterface({ input: process.stdin }).on('close', () => stop.abort());
let rounds = 0;
const mirror = await openReadOnly(process.argv[2] ?? '');
console.log('reading');
while (!stop.signal.aborted) {
  for (const view of VIEW_NAMES) {
    const { rows } = await mirror.query(`SELECT * FROM ${view}`);
    for await (const row of rows) if (row.length === 0) throw new Error(`${view} has no columns`);
  }
  rounds += 1;
  await new Promise(setImmediate);
}
await mirror.close();
console.log(rounds);
