import { expect, test } from 'vitest';
import { LIST_NAMES } from '../../../src/core/lists.ts';
import { FirstCopyWatch } from '../../../src/daemon/watches/first-copy.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import { loadOf } from '../../../src/sync/planning/load/load.ts';
import { cronsOfAll } from '../../support/crons.ts';
import { testLog } from '../../support/log.ts';
import { nthInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

/** A mirror of five inboxes, and a watch that sees each list that a sync of one kind has read. */
async function watchedMirror() {
  const mirror = await quickMirror({ sandbox: { conversations: [3, 3, 3, 3, 3] } });
  const { writer, clock, sandbox } = mirror;
  const { log, lines } = testLog();
  const { budget } = readConfig({}, '/', { service: false });
  const reads = { states: 0, loads: 0, printed: 0 };
  const sweeps = {
    latest: () => ((reads.states += 1), writer.sweeps.latest()),
    completed: writer.sweeps.completed.bind(writer.sweeps),
    failedSweeps: writer.sweeps.failedSweeps.bind(writer.sweeps),
  };
  const begin = () =>
    FirstCopyWatch.begin({
      mirror: { inboxes: writer.inboxes, sweeps },
      clock,
      log,
      readLoad: () => (
        (reads.loads += 1),
        loadOf(writer, cronsOfAll('0 * * * *'), { budget, readPages: null }, 0)
      ),
      onLoad: () => void (reads.printed += 1),
    });
  let seen = 0;
  const sync = async (watch: FirstCopyWatch): Promise<void> => {
    for (const list of LIST_NAMES) {
      await mirror.sync({ lists: [list] });
      await Promise.all(mirror.events.slice(seen).map((event) => watch.after(event)));
      seen = mirror.events.length;
    }
  };
  const logged = (): unknown[] => lines.splice(0).map((line) => JSON.parse(line) as unknown);
  return { sandbox, begin, sync, logged, reads };
}

test('the log reports the first copy once, after few queries, and a restart does not repeat it', async () => {
  const { begin, sync, logged, reads } = await watchedMirror();
  const watch = await begin();
  await sync(watch);
  expect(logged()).toMatchObject([{ lists: 16, msg: 'first copy complete' }]);
  expect(reads).toEqual({ states: 3, loads: 1, printed: 1 });
  await sync(watch);
  await sync(await begin());
  expect(logged()).toEqual([]);
});

test('a list that can never be read does not keep the first copy from its end, also over a restart', async () => {
  const { sandbox, begin, sync, logged } = await watchedMirror();
  sandbox.faults.set(`/inboxes/${nthInbox(sandbox, 4).id}/conversations`, 'forbidden');
  await sync(await begin());
  expect(logged()).toMatchObject([
    { lists: 15, msg: 'first copy complete, but for lists that cannot be read' },
  ]);
  await sync(await begin());
  expect(logged()).toEqual([]);
});
