import { hostname } from 'node:os';
import { LIST_NAMES, listId } from '../src/core/lists.ts';
import { type Access, keyFingerprint } from '../src/core/secrets.ts';
import { openDatabase } from '../src/database/open.ts';
import { acquireLease } from '../src/mirror/lease.ts';
import { openWriter } from '../src/mirror/mirror.ts';
import { createClient } from '../src/service/client.ts';
import { Gate } from '../src/service/gate/gate.ts';
import { createHttp } from '../src/service/http.ts';
import { systemClock } from '../src/session/clock.ts';
import { AccountCheck } from '../src/sync/account/account.ts';
import type { SweepDeps } from '../src/sync/deps.ts';
import { runPass } from '../src/sync/pass.ts';
import { KEY, PAGE_SIZE, type PhaseSpec } from './processes.ts';
import type { OpenWay } from './way.ts';

/** The way `mirror`: the parts of `inbox-mirror sync`, with a pace that never limits it. */
export async function mirrorWay({ url, file }: PhaseSpec): Promise<OpenWay> {
  const clock = systemClock();
  const database = await openDatabase(`file:${file}`);
  const claimant = {
    host: hostname(),
    pid: process.pid,
    command: 'bench',
    now: clock.now,
    isAlive: () => false,
  };
  const lease = await acquireLease(database, claimant);
  const writer = openWriter(database, lease);
  const http = createHttp(url, () => KEY);
  const access = (): Access => ({ address: url, fingerprint: keyFingerprint(KEY) });
  const gate = new Gate({
    ledger: writer.ledger,
    clock,
    budget: { perSecond: 10_000, perDay: 1_000_000_000, reserved: 0 },
    access,
  });
  const client = createClient({ http, gate, pageSize: PAGE_SIZE, storePublicPermalink: false });
  const account = new AccountCheck({ mirror: writer, clock, access });
  const { signal } = new AbortController();
  return {
    query: (sql) => database.query(sql),
    walk: async (onPage) =>
      await sync({ client, mirror: writer, account, clock, goneAfterMs: 0, signal }, onPage),
    async close() {
      http.close();
      await lease.release();
      await database.close();
    },
  };
}

const SPEC = {
  kind: 'sync',
  lists: LIST_NAMES,
  inboxId: null,
  acceptDeletes: false,
  acceptAccount: false,
  requestedBy: 'bench',
} as const;

/** Runs one complete pass. @throws an error if any list is not complete */
async function sync(
  deps: Omit<SweepDeps, 'onEvent'>,
  onPage: (rows: number) => void,
): Promise<{ written: number }> {
  // A page event has the number of all rows of its list so far.
  const items = new Map<string, number>();
  const onEvent: SweepDeps['onEvent'] = (event) => {
    if (event.kind !== 'page') return;
    const id = listId(event.key);
    onPage(event.items - (items.get(id) ?? 0));
    items.set(id, event.items);
  };
  const report = await runPass({ ...deps, onEvent }, SPEC);
  if (report.stopped !== null) throw report.stopped;
  const failed = report.lists.find(({ outcome }) => outcome !== 'complete');
  if (failed !== undefined) throw new Error(`a list ended as ${failed.outcome}`, { cause: failed.error });
  return {
    written: report.lists.reduce((sum, list) => sum + list.inserted + list.changed + list.deleted, 0),
  };
}
