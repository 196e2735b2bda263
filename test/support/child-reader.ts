// A real process that asks every view again and again, read-only, until its stdin ends: node child-reader.ts DATABASE_FILE
// Prints how often it went round.
import { createInterface } from 'node:readline';
import SqliteDatabase from 'better-sqlite3';
import { VIEW_NAMES } from '../../src/store/catalogue.ts';

const stop = new AbortController();
createInterface({ input: process.stdin }).on('close', () => stop.abort());
let rounds = 0;
const database = new SqliteDatabase(process.argv[2], { readonly: true, timeout: 5000 });
console.log('reading');
while (!stop.signal.aborted) {
  for (const view of VIEW_NAMES) database.prepare(`SELECT * FROM ${view}`).all();
  rounds += 1;
  await new Promise(setImmediate);
}
database.close();
console.log(rounds);
