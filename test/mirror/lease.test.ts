import { describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { acquireLease, type Claimant, LEASE_MS, readLease } from '../../src/mirror/lease.ts';
import { openWriter } from '../../src/mirror/mirror.ts';
import { runPass } from '../../src/sync/pass.ts';
import { accountCheck } from '../support/account.ts';
import { mirrorOf, temporaryDatabase } from '../support/mirror.ts';
import { passSpec } from '../support/pass-spec.ts';
import { urlOf } from '../support/provider.ts';
import { changesIn, count, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const START = Date.parse('2026-03-02T08:00:00.000Z');

/** A claim by process `pid` of `here` at `START`, with every process alive. `changes` override these. */
function claim(pid: number, changes: Partial<Claimant> = {}): Claimant {
  return { host: 'here', pid, command: `command ${pid}`, now: () => START, isAlive: () => true, ...changes };
}

async function database(): Promise<Database> {
  return await temporaryDatabase(await freshMirrorFile());
}

describe('the lease', () => {
  test('that a live process holds is refused with an error that names the holder', async () => {
    const db = await database();
    await acquireLease(db, claim(1));
    await expect(acquireLease(db, claim(2, { now: () => START + 5000 }))).rejects.toMatchObject({
      code: 'LEASE_HELD',
      message: expect.stringMatching(
        /`command 1`, process 1 on here, since 2026-03-02T08:00:00.000Z, last heard of 5 s ago/,
      ),
    });
  });

  test('of a dead process is taken over at once on this host, and on another after it expires', async () => {
    const db = await database();
    await acquireLease(db, claim(1));
    const dead = { isAlive: () => false };
    await expect(acquireLease(db, claim(2, { ...dead, host: 'elsewhere' }))).rejects.toMatchObject({
      code: 'LEASE_HELD',
    });
    await acquireLease(db, claim(3, dead));
    expect(await readLease(db)).toMatchObject({ pid: 3 });
    await expect(
      acquireLease(db, claim(4, { host: 'elsewhere', now: () => START + LEASE_MS })),
    ).rejects.toMatchObject({
      code: 'LEASE_HELD',
    });
    await acquireLease(db, claim(4, { host: 'elsewhere', now: () => START + LEASE_MS + 1 }));
    expect(await readLease(db)).toMatchObject({ pid: 4, host: 'elsewhere' });
  });

  test('under our own process id is from an earlier process, and is taken over', async () => {
    const db = await database();
    await acquireLease(db, claim(7));
    await acquireLease(db, claim(7, { command: 'a later one' }));
    expect(await readLease(db)).toMatchObject({ command: 'a later one' });
  });

  test('of another thread or session of our own process is refused while it is renewed', async () => {
    const db = await database();
    const origin = { place: 'this machine', started: '100' };
    const lease = await acquireLease(db, claim(7, { origin }));
    const later = claim(7, { origin, command: 'a later one' });
    await expect(acquireLease(db, later)).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await lease.renew(db);
    await lease.release();
    await acquireLease(db, later);
    expect(await readLease(db)).toMatchObject({ command: 'a later one' });
  });

  test('that our process could not release or claim, because the database failed, is taken over at once', async () => {
    const db = await database();
    const origin = { place: 'this machine', started: '100' };
    let failure: 'none' | 'before' | 'after' = 'none';
    const failing: Database = {
      ...db,
      async execute(...statement) {
        if (failure === 'before') throw new Error('no answer');
        const rows = await db.execute(...statement);
        if (failure === 'after') throw new Error('no answer');
        return rows;
      },
    };
    const lease = await acquireLease(failing, claim(7, { origin }));
    failure = 'before';
    await expect(lease.release()).rejects.toThrow('no answer');
    failure = 'after';
    await expect(acquireLease(failing, claim(7, { origin, command: 'lost' }))).rejects.toThrow('no answer');
    expect(await readLease(db)).toMatchObject({ command: 'lost' });
    await acquireLease(db, claim(7, { origin, command: 'a later one' }));
    expect(await readLease(db)).toMatchObject({ command: 'a later one' });
  });

  test('of another container with our host name and process id is refused until it expires', async () => {
    const db = await database();
    const first = { origin: { place: 'one container', started: '100' } };
    const second = { origin: { place: 'another', started: '100' }, isAlive: () => false };
    await acquireLease(db, claim(1, first));
    for (const pid of [1, 2])
      await expect(acquireLease(db, claim(pid, second))).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await acquireLease(db, claim(1, { ...second, now: () => START + LEASE_MS + 1 }));
    expect(await readLease(db)).toMatchObject({ origin: second.origin });
  });

  test('of an earlier process whose id another process has now is taken over at once', async () => {
    const db = await database();
    const place = 'this machine';
    await acquireLease(db, claim(1, { origin: { place, started: '100' } }));
    const isAlive = (_pid: number, started?: string): boolean => started === '200';
    await acquireLease(db, claim(2, { origin: { place, started: '300' }, isAlive }));
    await acquireLease(db, claim(2, { origin: { place, started: '400' }, isAlive }));
    expect(await readLease(db)).toMatchObject({ origin: { started: '400' } });
  });

  test('that ends far in the future is from a clock that was ahead, and is taken over', async () => {
    const db = await database();
    await acquireLease(db, claim(1, { now: () => START + 86_400_000 }));
    await acquireLease(db, claim(2));
    expect(await readLease(db)).toMatchObject({ pid: 2 });
  });

  test('is taken from the holder that the claimant replaces, and not from one that came after it', async () => {
    const db = await database();
    const { holder } = await acquireLease(db, claim(1));
    await acquireLease(db, claim(2, { replaces: holder }));
    await expect(acquireLease(db, claim(3, { replaces: holder }))).rejects.toMatchObject({
      code: 'LEASE_HELD',
    });
    expect(await readLease(db)).toMatchObject({ pid: 2 });
  });

  test('goes to one of several processes that see the same dead holder', async () => {
    const path = await freshMirrorFile();
    const databases = [];
    for (let nth = 0; nth < 4; nth++) databases.push(await temporaryDatabase(path));
    await acquireLease(databases[0]!, claim(1));
    const alive = { isAlive: (pid: number) => pid !== 1 };
    const results = await Promise.allSettled(
      databases.map((db, nth) => acquireLease(db, claim(10 + nth, alive))),
    );
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'LEASE_HELD' });
  });

  test('is extended by renewal, and its former holder can neither renew nor release it', async () => {
    const db = await database();
    let now = START;
    const lease = await acquireLease(db, claim(1, { now: () => now }));
    now += LEASE_MS - 1;
    await lease.renew(db);
    expect(await readLease(db)).toMatchObject({ expiresAt: new Date(now + LEASE_MS) });
    await acquireLease(db, claim(2, { now: () => now, isAlive: () => false }));
    await lease.release();
    expect(await readLease(db)).toMatchObject({ pid: 2 });
    await expect(lease.renew(db)).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });
});

describe('a writer whose lease was taken over in the middle of a pass', () => {
  test('writes nothing more and reports the reason, and the new writer resumes the pass', async () => {
    const path = await freshMirrorFile();
    let takeOver: (() => Promise<void>) | null = null;
    const mirror = await mirrorOf({
      path,
      pageSize: 10,
      sandbox: { conversations: [95] },
      wrapHttp: (http) => ({
        close: http.close,
        async get(address, query) {
          if (takeOver !== null && mirror.sandbox.arrivals.length === 7) await takeOver();
          return await http.get(address, query);
        },
      }),
    });
    const other = await openDatabase(urlOf(path));
    const lease = { current: null as Awaited<ReturnType<typeof acquireLease>> | null };
    let rowsThen = -1;
    takeOver = async () => {
      takeOver = null;
      lease.current = await acquireLease(
        other,
        claim(process.pid + 1, { host: 'test-host', now: mirror.clock.now, isAlive: () => false }),
      );
      rowsThen = await count(other, 'conversations');
    };
    const { stopped } = await mirror.sync();
    expect(stopped).toMatchObject({
      code: 'LEASE_LOST',
      message: expect.stringContaining('has taken over this mirror'),
    });
    expect(await count(other, 'conversations')).toBe(rowsThen);
    expect(await other.query(`SELECT state FROM sweeps WHERE list = 'conversations'`)).toEqual([
      { state: 'running' },
    ]);

    const { client, clock } = mirror;
    const successor = openWriter(other, lease.current!);
    const next = await runPass(
      {
        client,
        mirror: successor,
        account: accountCheck({ mirror: successor, clock }),
        clock,
        goneAfterMs: 0,
        onEvent: () => undefined,
        signal: new AbortController().signal,
      },
      passSpec({ requestedBy: 'the new one' }),
    );
    expect(next).toMatchObject({ stopped: null, pass: { resumed: true } });
    await expectEqualToService(mirror);
    expect(await changesIn(other)).toEqual([]);
    await other.close();
  });

  test('changes no sweep, pass, suspect or tombstone any more', async () => {
    const mirror = await mirrorOf({ path: await freshMirrorFile(), sandbox: { conversations: [5] } });
    await mirror.sync();
    const { writer, clock, database: db } = mirror;
    const key = { list: 'conversations', inboxId: firstInbox(mirror.sandbox).id } as const;
    const sweep = await writer.sweeps.open(key, 'manual', clock.now());
    const pass = await writer.passes.begin(passSpec(), clock.now());
    await acquireLease(
      db,
      claim(process.pid + 1, { host: 'test-host', now: clock.now, isAlive: () => false }),
    );
    const before = await db.query(
      `SELECT id, state FROM sweeps UNION ALL SELECT id, state FROM sync_requests`,
    );
    const page = { items: [], rejects: [], next: null, requestId: 1, requests: 1 };
    const now = clock.now();
    for (const attempt of [
      () => writer.sweeps.open(key, 'manual', now),
      () => writer.applyPage(sweep, page, now),
      () => writer.sweeps.restart(sweep),
      () => writer.suspects.closeWalk(sweep, now),
      () =>
        writer.suspects.settle(sweep, { id: '1' }, { found: null, isGone: true, isUndecided: false, now }),
      () => writer.suspects.condemn(sweep, [{ id: '1' }], { accepted: true, now }),
      () => writer.suspects.hold(sweep, 1),
      () => writer.suspects.acquit(sweep, [{ id: '1' }]),
      () => writer.sweeps.complete(sweep, now),
      () => writer.sweeps.end(sweep.id, 'failed', { error: 'x', code: null }, now),
      () => writer.sweeps.abandon(key, pass.id, now),
      () => writer.passes.begin(passSpec({ kind: 'resync' }), now),
      () => writer.passes.touch(pass.id, now),
      () => writer.passes.end(pass.id, { state: 'done', error: null }, now),
      () =>
        writer.schedules.write({
          list: 'tags',
          expression: '0 * * * *',
          timezone: 'UTC',
          nextAt: new Date(now),
          dueSince: null,
        }),
      () => writer.writeOutage({ since: new Date(now), until: new Date(now), cause: 'x' }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    }
    expect(
      await db.query(`SELECT id, state FROM sweeps UNION ALL SELECT id, state FROM sync_requests`),
    ).toEqual(before);
    await expectEqualToService(mirror);
  });
});
