import { expect, test } from 'vitest';
import { count } from '../../support/rows.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { HOUR } from '../../../src/core/clock.ts';
import { benchOf, gapsOf, times } from './bench.ts';

test.each([1900, 4900, 5250, 6000, 60_000])(
  'a slot that the database grants %i ms late brings no two requests closer than a gap',
  async (lateMs) => {
    const { start, sandbox, clock } = benchOf({ rate: 1, perDay: 5000 });
    const path = await freshMirrorFile();
    let grants = 0;
    const late = await start(path, { way: () => [150, 150], lockedMs: () => (++grants === 2 ? lateMs : 0) });
    const other = await start(path, { way: () => [150, 150] });
    await late.ask();

    const busy = times(12, () => other.ask());
    await clock.sleep(2000);
    await times(2, () => late.ask());
    await busy;

    expect(Math.min(...gapsOf(sandbox))).toBeGreaterThanOrEqual(1000);
    expect(sandbox.arrivals).toHaveLength(15);
  },
);

test('a server that tells the time late brings no two requests closer than a gap', async () => {
  const { start, sandbox, clock, arrived } = benchOf({ rate: 1, perDay: 5000 });
  const path = await freshMirrorFile();
  const { now, monotonic, boot, sleep } = clock;
  const ledgerTime = async () => {
    const time = await clock.ledgerTime();
    await clock.sleep(1500);
    return time;
  };
  const late = await start(path, {
    way: () => [150, 150],
    clock: { now, monotonic, boot, sleep, ledgerTime },
  });
  const other = await start(path, { way: () => [150, 150] });

  const first = late.ask();
  await arrived(1);
  await Promise.all([first, other.ask()]);

  expect(Math.min(...gapsOf(sandbox))).toBeGreaterThanOrEqual(1000);
});

test('after a sleep of the machine the gate gives the slot from before back', async () => {
  const { start, sandbox, clock } = benchOf();
  const path = await freshMirrorFile();
  let sleeps = true;
  const { ask, database } = await start(path, {
    onGranting() {
      if (sleeps) clock.suspend(8 * HOUR);
      sleeps = false;
    },
  });

  await ask();

  expect(sandbox.arrivals).toHaveLength(1);
  expect(await database.query('SELECT status, error FROM requests')).toEqual([{ status: 200, error: null }]);
});

test("a slot that grows old while the key's record is written is given back", async () => {
  const { start, sandbox, clock } = benchOf();
  const path = await freshMirrorFile();
  let written = 0;
  const { ask, database } = await start(path, {
    onGranted() {
      written += 1;
      if (written === 1) clock.suspend(8 * HOUR);
    },
  });

  await ask();

  expect(sandbox.arrivals).toHaveLength(1);
  const [request] = await database.query<{ sent_at: Date }>('SELECT sent_at FROM requests');
  expect(sandbox.arrivals[0]!.at - new Date(request!.sent_at).getTime()).toBeLessThan(5000);
});

test('a database that grants three slots in a row too late stops the call, which has sent nothing', async () => {
  const { start, sandbox } = benchOf();
  const path = await freshMirrorFile();
  const { ask, database } = await start(path, { lockedMs: () => 4000 });

  await expect(ask()).rejects.toMatchObject({
    code: 'DATABASE',
    message:
      'The database took 4 s to grant a request, and too long for the two before: none of them was sent or ' +
      "counts in the day's budget. Nothing is lost; run the command again when the database answers faster.",
  });

  expect(sandbox.arrivals).toEqual([]);
  expect(await count(database, 'requests')).toBe(0);
});

test('a database that is slow for a day spends nothing of its budget', async () => {
  const { start, sandbox } = benchOf({ rate: 1, perDay: 5000 });
  const path = await freshMirrorFile();
  let isSlow = true;
  const { ask } = await start(path, {
    lockedMs: () => (isSlow ? 4000 : 0),
    budget: { perDay: 10, reserved: 0 },
  });
  for (let nth = 0; nth < 5; nth += 1) await expect(ask()).rejects.toMatchObject({ code: 'DATABASE' });
  isSlow = false;
  for (let nth = 0; nth < 10; nth += 1) expect(await ask()).toMatchObject({ ok: true });
  await expect(ask()).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
  expect(sandbox.arrivals).toHaveLength(10);
});

test('a trial whose slot comes too late lets another trial leave', async () => {
  const { start, sandbox, clock } = benchOf();
  const path = await freshMirrorFile();
  let grants = 0;
  const { ask } = await start(path, { lockedMs: () => (++grants === 2 ? 5250 : 0) });
  let answers = 0;
  sandbox.script(() => (++answers === 1 ? { status: 429, body: '{}' } : undefined));

  const asked = clock.monotonic();
  expect(await ask()).toMatchObject({ ok: true });

  expect(sandbox.arrivals.map(({ status }) => status)).toEqual([429, 200]);
  expect(clock.monotonic() - asked).toBeLessThan(20_000);
});
