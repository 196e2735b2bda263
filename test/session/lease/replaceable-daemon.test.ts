import { expect, onTestFinished, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import { type Access, accessId } from '../../../src/core/secrets.ts';
import { acquireLease } from '../../../src/mirror/lease.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import { claimMirror } from '../../../src/session/lease/replaceable-daemon.ts';
import { TestClock } from '../../support/clock.ts';
import { testLog } from '../../support/log.ts';
import { temporaryDatabase } from '../../support/mirror.ts';
import { freshMirrorFile } from '../../support/template.ts';

const ADDRESS = 'http://service.example/v1';
const OWN = { address: ADDRESS, fingerprint: 'own' };
const OTHER = { address: ADDRESS, fingerprint: 'other' };

/** Another host's command has held the lease for two hours. `sync` claims it here, with the own key. */
async function heldBy(command: string) {
  const clock = new TestClock();
  const database = await temporaryDatabase(await freshMirrorFile());
  const mirror = mirrorOn(database);
  const holder = { host: 'elsewhere', pid: 1, command, now: clock.now, isAlive: () => true };
  const lease = await acquireLease(database, holder);
  clock.advance(2 * HOUR);
  await lease.renew();
  return {
    refused: (access: Access, agoMs: number) =>
      mirror.ledger.refuseKey(accessId(access), 'HTTP 401', clock.now() - agoMs),
    async sync() {
      const parts = { mirror, clock, log: testLog().log, access: () => OWN, replaceable: null };
      const claim = await claimMirror('inbox-mirror sync', parts, new AbortController().signal);
      onTestFinished(() => claim.release());
      return claim;
    },
  };
}

const HELD = { code: 'LEASE_HELD' };

test('a daemon with a refused key loses the mirror to a sync whose key was refused over an hour ago', async () => {
  const { refused, sync } = await heldBy('inbox-mirror start');
  await refused(OWN, HOUR + MINUTE);
  await refused(OTHER, MINUTE);
  expect(await sync()).toMatchObject({ hasReplaced: true });
});

test('a daemon with a refused key keeps the mirror from a sync whose key was refused minutes ago', async () => {
  const { refused, sync } = await heldBy('inbox-mirror start');
  await refused(OWN, 2 * MINUTE);
  await refused(OTHER, MINUTE);
  await expect(sync()).rejects.toMatchObject(HELD);
});

test('a daemon keeps the mirror from a sync with the same refused key, also after an hour', async () => {
  const { refused, sync } = await heldBy('inbox-mirror start');
  await refused(OWN, HOUR + MINUTE);
  await expect(sync()).rejects.toMatchObject(HELD);
});

test('a running sync keeps the mirror, whatever key was refused', async () => {
  const { refused, sync } = await heldBy('inbox-mirror sync');
  await refused(OTHER, MINUTE);
  await expect(sync()).rejects.toMatchObject(HELD);
});
