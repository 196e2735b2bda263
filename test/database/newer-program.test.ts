import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { MirrorError } from '../../src/core/errors.ts';
import { createMetrics } from '../../src/daemon/http/metrics.ts';
import { serveUntilStopped } from '../../src/daemon/standby.ts';
import { systemClock } from '../../src/session/clock.ts';
import { withSession } from '../../src/session/session.ts';
import { mirrorOf, temporaryDatabase } from '../support/mirror.ts';
import { NEWER_MIGRATION, plantNewerMigration } from '../support/newer-migration.ts';
import { quietIo, testProgram } from '../support/program.ts';
import { urlOf } from '../support/provider.ts';
import { count } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

const NEWER = { code: 'DATABASE', message: expect.stringContaining(NEWER_MIGRATION) };
const LEASE = `leases WHERE name = 'writer'`;

test('a daemon beneath which a newer program migrates the mirror writes nothing more and ends', async () => {
  const place = await freshMirrorFile();
  const program = await testProgram({ inboxes: 1 }, { DATABASE_URL: urlOf(place) });
  const newer = await temporaryDatabase(place);
  const stop = new AbortController();
  const env = { ...program.env, REQUESTS_PER_SECOND: '20', GONE_AFTER: '0s' };
  const io = quietIo(program, { env, signal: stop.signal });
  await withSession(io, async (session) => {
    const serving = serveUntilStopped(io, session, {
      metrics: createMetrics({ version: '1', clock: systemClock() }),
      onLoad: () => undefined,
      onFailure: () => undefined,
      onActive: () => Promise.resolve(),
      onStandby: () => undefined,
    });
    await expect.poll(() => program.sandbox.arrivals.length).toBeGreaterThanOrEqual(4);
    await plantNewerMigration(newer);
    // The migration of a newer program takes the lease, as the next test shows.
    await newer.execute(`DELETE FROM ${LEASE}`);
    const deadline = setTimeout(() => stop.abort(new MirrorError('STOPPED', 'It runs on.')), 15_000);
    await expect(serving).rejects.toMatchObject(NEWER);
    clearTimeout(deadline);
  });
  expect(await count(newer, LEASE)).toBe(0);
});

test('a migration takes the lease from a writer of an older program, and an open without one does not', async () => {
  const place = await freshMirrorFile();
  const mirror = await mirrorOf({ path: place, sandbox: { conversations: [5] } });
  await mirror.sync();
  const { database, writer } = mirror;
  await (await openDatabase(urlOf(place))).close();
  expect(await count(database, LEASE)).toBe(1);
  await database.execute(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_long_tokens'`);
  await (await openDatabase(urlOf(place))).close();
  expect(await count(database, LEASE)).toBe(0);
  await expect(writer.saveCoverDays(1)).rejects.toMatchObject({ code: 'LEASE_LOST' });
});

test('a stand-by of an older program does not take over', async () => {
  const place = await freshMirrorFile();
  const io = quietIo(await testProgram({}, { DATABASE_URL: urlOf(place) }));
  await withSession(io, async (session) => {
    await plantNewerMigration(await temporaryDatabase(place));
    await expect(session.claim('start')).rejects.toMatchObject(NEWER);
    expect(await session.mirror.leaseHolder()).toBeNull();
  });
});
