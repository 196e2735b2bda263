import { expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { readConfig } from '../../src/session/config/config.ts';
import { readDetails, readJudgedStatus } from '../../src/status/observe.ts';
import { quickMirror } from '../support/template.ts';

const CONFIG = readConfig({}, '/', { service: false });
const SELF = { host: 'test-host', pid: process.pid, isAlive: () => true, isWriter: true };

test('the requests that a status splits by purpose and by hour are those that it counts', async () => {
  const { database, clock } = await quickMirror();
  const mirror = mirrorOn(database);
  const now = clock.now();
  const send = async (at: number, reason: string): Promise<void> => {
    await database.execute(
      `INSERT INTO requests (sent_at, method, path, list, reason) VALUES ($1, 'GET', '/tags', 'tags', $2)`,
      iso(at),
      reason,
    );
  };
  await send(now - 2.5 * HOUR, 'manual');
  await send(now - 90_000, 'schedule');
  // A clock that was set back has left this one.
  await send(now + HOUR, 'schedule');
  const judged = await readJudgedStatus(mirror, { now, config: CONFIG, self: SELF });
  // The daemon sends while the status is read.
  await send(now + 1000, 'schedule');
  const { sent, spent } = await readDetails(mirror, CONFIG, judged);
  expect(sent).toBe(3);
  expect(spent).toEqual({
    wholeLists: 2,
    singlePages: 0,
    lookups: 0,
    commands: 1,
    byHour: [...Array.from({ length: 21 }, () => 0), 1, 0, 2],
  });
});
