// A process that syncs, for tests that kill it: node child-sync.ts BASE_URL DATABASE_URL PAGE_SIZE
// With `open-only` as BASE_URL it only opens the mirror, which creates the tables.
// It prints the code of the error that stopped it, or `complete`.
import { type Access, keyFingerprint } from '../../src/core/secrets.ts';
import { openDatabase } from '../../src/database/open.ts';
import { acquireLease } from '../../src/mirror/lease.ts';
import { openWriter } from '../../src/mirror/mirror.ts';
import { createClient } from '../../src/service/client.ts';
import { Gate } from '../../src/service/gate/gate.ts';
import { createHttp } from '../../src/service/http.ts';
import { claimantOf } from '../../src/session/lease/claim.ts';
import { systemClock } from '../../src/session/clock.ts';
import { runPass } from '../../src/sync/pass.ts';
import { accountCheck } from './account.ts';
import { passSpec } from './pass-spec.ts';

const [url = '', databaseUrl = '', pageSize = '100'] = process.argv.slice(2);
const key = (): string => 'sandbox-key';
const clock = systemClock();
const database = await openDatabase(databaseUrl);
if (url === 'open-only') {
  await database.close();
  console.log('complete');
  process.exit(0);
}
const lease = await acquireLease(database, claimantOf('child-sync', clock, null));
const writer = openWriter(database, lease);
const http = createHttp(url, key);
const access = (): Access => ({ address: url, fingerprint: keyFingerprint(key()) });
const budget = { perSecond: 1000, perDay: 1_000_000, reserved: 0 };
const client = createClient({
  http,
  gate: new Gate({ ledger: writer.ledger, clock, access, budget }),
  pageSize: Number(pageSize),
  storePublicPermalink: false,
});
const { stopped, lists } = await runPass(
  {
    client,
    mirror: writer,
    account: accountCheck({ mirror: writer, clock }, () => url),
    clock,
    goneAfterMs: 0,
    onEvent: () => undefined,
    signal: new AbortController().signal,
  },
  passSpec({ requestedBy: 'child' }),
);
await lease.release();
http.close();
await database.close();
const failed = lists.find(({ error }) => error !== null)?.error ?? stopped;
console.log(failed === null ? 'complete' : failed);
