import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MirrorError } from '../../src/core/errors.ts';
import { MINUTE } from '../../src/core/clock.ts';
import { createMetrics } from '../../src/daemon/http/metrics.ts';
import { serveUntilStopped } from '../../src/daemon/standby.ts';
import { systemClock } from '../../src/session/clock.ts';
import { type Session, withSession } from '../../src/session/session.ts';
import { STUCK_MS } from '../../src/daemon/watches/stuck.ts';
import { TestClock } from '../support/clock.ts';
import { count } from '../support/rows.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { quietIo, testProgram } from '../support/program.ts';

const DOWN = new MirrorError('DATABASE', 'The database is just starting or stopping.');

/** Serves although each of its first turns fails so, and stops once the service was asked. */
async function serveThrough(faults: readonly MirrorError[]) {
  const program = await testProgram({ inboxes: 1, conversations: 3 });
  const { folder, sandbox } = program;
  const stop = new AbortController();
  let errors = '';
  const stderr = { write: (text: string) => (errors += text) };
  const io = quietIo(program, { stderr, signal: stop.signal });
  const roles: string[] = [];
  const failing = (session: Session): Session => ({
    ...session,
    async claim(command) {
      const claim = await session.claim(command);
      const fault = faults[roles.filter((role) => role === 'active').length];
      if (fault === undefined) return claim;
      return { ...claim, mirror: { ...claim.mirror, inboxes: () => Promise.reject(fault) } };
    },
  });
  await withSession(io, async (session) => {
    const serving = serveUntilStopped(io, failing(session), {
      metrics: createMetrics({ version: '1', clock: systemClock() }),
      onLoad: () => undefined,
      onFailure: () => undefined,
      onActive: async () => void roles.push('active'),
      onStandby: () => roles.push('standby'),
    });
    await expect.poll(() => sandbox.arrivals.length).toBeGreaterThanOrEqual(4);
    stop.abort(new MirrorError('STOPPED', 'Stopped by SIGTERM.'));
    await serving;
  });
  const database = await temporaryDatabase(join(folder, 'mirror.db'));
  expect(await count(database, `leases WHERE name = 'writer'`)).toBe(0);
  return { roles, said: errors.match(/the database cannot be used/g) ?? [] };
}

test('a database that fails while a daemon begins to serve does not end it', async () => {
  const { roles, said } = await serveThrough([DOWN, DOWN]);
  expect(roles).toEqual(['active', 'standby', 'active', 'standby', 'active', 'standby']);
  expect(said).toHaveLength(1);
});

test('a database that fails again after the lease was lost is reported again', async () => {
  const lost = new MirrorError('LEASE_LOST', 'Another process holds the lease.');
  const { said } = await serveThrough([DOWN, lost, DOWN]);
  expect(said).toHaveLength(2);
});

test('a damaged database ends the daemon’s work at once', async () => {
  const io = quietIo(await testProgram({ inboxes: 1, conversations: 3 }));
  const damage = new MirrorError('DATABASE', 'The database is damaged.', { isDamage: true });
  await withSession(io, async (session) => {
    const serving = serveUntilStopped(io, session, {
      metrics: createMetrics({ version: '1', clock: systemClock() }),
      onLoad: () => undefined,
      onFailure: () => undefined,
      onActive: () => Promise.reject(damage),
      onStandby: () => undefined,
    });
    await expect(serving).rejects.toBe(damage);
  });
});

test.each([
  ['a stand-by whose database hangs', true],
  ['a daemon whose database hangs before its first request', false],
])('%s ends after minutes, to be restarted', async (_, standsBy) => {
  let errors = '';
  const stderr = { write: (text: string) => (errors += text) };
  const io = quietIo(await testProgram(), { stderr });
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  onTestFinished(() => exit.mockRestore());
  await withSession(io, async (session) => {
    const clock = new TestClock();
    const answers = Promise.withResolvers<never>();
    const hangs = (): Promise<never> => answers.promise;
    const claim: Session['claim'] = async (command) => {
      if (standsBy) return await hangs();
      const claimed = await session.claim(command);
      return { ...claimed, mirror: { ...claimed.mirror, inboxes: hangs } };
    };
    const serving = serveUntilStopped(
      io,
      { ...session, clock, claim },
      {
        metrics: createMetrics({ version: '1', clock }),
        onLoad: () => undefined,
        onFailure: () => undefined,
        onActive: () => Promise.resolve(),
        onStandby: () => undefined,
      },
    );
    await clock.sleep(STUCK_MS - MINUTE);
    expect(exit).not.toHaveBeenCalled();
    await clock.sleep(2 * MINUTE);
    expect(exit).toHaveBeenCalledWith(1);
    expect(errors).toContain('the database hangs; the daemon exits with 1, to be restarted');
    answers.reject(new MirrorError('STOPPED', 'The test is over.'));
    await expect(serving).rejects.toThrow('The test is over.');
  });
});
