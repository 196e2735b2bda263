import { expect, onTestFinished, test } from 'vitest';
import { HOUR } from '../../../src/core/clock.ts';
import { watchFit } from '../../../src/daemon/watches/budget-fit.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import { cronsOf } from '../../../src/sync/planning/cron.ts';
import { loadOf } from '../../../src/sync/planning/load/load.ts';
import { testLog } from '../../support/log.ts';
import { nthInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

test('the daemon logs whether the schedules fit once all lists are known, then at each change', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [150] } });
  const { writer, clock, sandbox } = mirror;
  // Each hour three lists of one page and one of two: 24 × (3 + 2) = 120 requests a day, of at most 130.
  const every = { inboxes: '0 * * * *', users: '0 * * * *', tags: '0 * * * *', conversations: '0 * * * *' };
  const crons = cronsOf(every, 'UTC');
  const budget = { ...readConfig({}, '/', { service: false }).budget, perDay: 130, reserved: 0 };
  const { log, lines } = testLog();
  const logged = () => lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());

  const readLoad = () => loadOf(writer, crons, { budget, readPages: null }, clock.now());
  const initial = await readLoad();
  expect(initial.complete).toBe(false);
  const watched = watchFit({ readLoad, clock, log, signal: stop.signal }, initial);
  await mirror.sync();
  await clock.sleep(7 * HOUR);
  expect(logged()).toMatchObject([
    { level: 30, wanted: 120, available: 130, msg: "the schedules fit the day's budget" },
  ]);
  await clock.sleep(7 * HOUR);
  expect(logged()).toEqual([]);

  for (let more = 0; more < 60; more++) sandbox.world.addConversation(nthInbox(sandbox, 0).id);
  await mirror.sync();
  await clock.sleep(7 * HOUR);
  expect(logged()).toMatchObject([
    {
      level: 40,
      wanted: 144,
      available: 130,
      msg: expect.stringMatching(/read whole .* conversations \d+ h/) as unknown,
    },
  ]);
  await clock.sleep(7 * HOUR);
  expect(logged()).toEqual([]);
  stop.abort();
  await watched;
});
