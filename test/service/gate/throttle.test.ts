import { expect, test } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { isMirrorError } from '../../../src/core/errors.ts';
import type { Grant } from '../../../src/core/ledger.ts';
import { accessId } from '../../../src/core/secrets.ts';
import type { ScriptedOutcome } from '../../../src/sandbox/sandbox.ts';
import { KEY } from '../../support/mirror.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { accessWith, type Bench, benchOf, ENTRY, gapsOf, OK, type Process, times } from './bench.ts';

const TOO_MANY = { status: 429, body: '{"Message":"Too Many Requests"}' };

/** Answers the n-th request with the n-th of `answers`; the sandbox answers all later ones itself. */
function answerWith({ sandbox }: Bench, ...answers: readonly ScriptedOutcome[]): void {
  sandbox.script(() => answers[sandbox.arrivals.length - 1]);
}

/** Sends requests like a daemon: after a refusal it waits until the time that the gate named. */
async function insist({ clock }: Bench, { ask }: Process, until: number): Promise<void> {
  while (clock.monotonic() < until) {
    try {
      await ask();
    } catch (error) {
      if (!isMirrorError(error, 'GATE_PAUSED') || error.resumeAt === undefined) throw error;
      await clock.sleep(error.resumeAt.getTime() - clock.now());
    }
  }
}

test('after 429s in a row the gate pauses 5 s, 30 s, 3 min, 18 min, then 1 h, plus up to 20 %', async () => {
  const bench = benchOf();
  bench.sandbox.script(() => TOO_MANY);
  const process = await bench.start(await freshMirrorFile(), { random: () => 0.5 });

  await insist(bench, process, 4 * HOUR);

  const ladder = [5 * SECOND, 30 * SECOND, 3 * MINUTE, 18 * MINUTE, HOUR, HOUR];
  for (const [index, gap] of gapsOf(bench.sandbox).slice(0, 6).entries()) {
    expect(gap).toBeGreaterThanOrEqual((ladder[index] ?? 0) * 1.1 - 1);
    expect(gap).toBeLessThan((ladder[index] ?? 0) * 1.1 + 10);
  }
});

test('the third 429 in a row opens the breaker: callers get a time to retry and need not wait', async () => {
  const bench = benchOf();
  bench.sandbox.script(() => TOO_MANY);
  const { ask, events } = await bench.start(await freshMirrorFile());

  const error = await ask().catch((refused: unknown) => refused);

  expect(error).toMatchObject({
    code: 'GATE_PAUSED',
    message: expect.stringMatching(
      /^No request is sent until \S+ \(for .*\): the service answered 429 \(too many requests\)\. It has answered 429 3 times lately\. A request before/,
    ) as unknown,
  });
  expect((error as { resumeAt: Date }).resumeAt.getTime() - bench.clock.now()).toBeGreaterThanOrEqual(
    3 * MINUTE,
  );
  expect(events.map(({ kind }) => kind)).toEqual(['paused', 'paused', 'breaker']);
  await expect(ask()).rejects.toMatchObject({ code: 'GATE_PAUSED' });
  expect(bench.sandbox.arrivals).toHaveLength(3);
});

test.each([
  ['7', 7 * SECOND],
  ['90', 90 * SECOND],
  ['date', 40 * SECOND],
  ['0', 5 * SECOND],
  ['past', 5 * SECOND],
  ['soon', 5 * SECOND],
])('after a first 429 with Retry-After %s, the gate waits %i ms', async (header, wait) => {
  const bench = benchOf();
  const { clock } = bench;
  const date = (ahead: number): string => new Date(clock.now() + ahead).toUTCString();
  const value = header === 'date' ? date(40_000) : header === 'past' ? date(-40_000) : header;
  answerWith(bench, { ...TOO_MANY, headers: { 'retry-after': value } });
  const { ask } = await bench.start(await freshMirrorFile(), { random: () => 0 });

  await ask();

  const [gap] = gapsOf(bench.sandbox);
  expect(gap).toBeGreaterThanOrEqual(wait - 1);
  expect(gap).toBeLessThan(wait + 1000);
});

test.each([20 * MINUTE, -20 * MINUTE])(
  'a Retry-After that is a date counts from the date of its answer: the service is %i ms ahead',
  async (ahead) => {
    const bench = benchOf();
    const { clock } = bench;
    const date = (later: number): string => new Date(clock.now() + ahead + later).toUTCString();
    answerWith(bench, { ...TOO_MANY, headers: { date: date(0), 'retry-after': date(40 * SECOND) } });
    const { ask } = await bench.start(await freshMirrorFile(), { random: () => 0 });

    await ask();

    const [gap] = gapsOf(bench.sandbox);
    expect(gap).toBeGreaterThanOrEqual(40 * SECOND - 1);
    expect(gap).toBeLessThan(41 * SECOND);
  },
);

test('the gate cuts a huge Retry-After to a day', async () => {
  const bench = benchOf();
  answerWith(bench, { ...TOO_MANY, headers: { 'retry-after': '99999999999999999999999' } });
  const { ask, ledger, reported } = await bench.start(await freshMirrorFile());
  const gone = new AbortController();
  const asked = ask({ signal: gone.signal });
  await reported(1);

  const until = (await ledger.gateState()).pausedUntil?.getTime() ?? 0;

  gone.abort(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
  expect(until - (bench.sandbox.arrivals[0]?.at ?? 0)).toBe(24 * HOUR);
});

test('in an hour of 429s with Retry-After 1, the gate sends at most 8 requests', async () => {
  const bench = benchOf();
  bench.sandbox.script(() => ({ ...TOO_MANY, headers: { 'retry-after': '1' } }));
  const process = await bench.start(await freshMirrorFile());

  await insist(bench, process, HOUR);

  expect(
    bench.sandbox.arrivals.filter(({ at }) => at - (bench.sandbox.arrivals[0]?.at ?? 0) < HOUR).length,
  ).toBeLessThanOrEqual(8);
});

test('a pause and an open breaker outlive the process', async () => {
  const bench = benchOf();
  bench.sandbox.script(() => TOO_MANY);
  const path = await freshMirrorFile();
  const { ask, database } = await bench.start(path);
  await ask().catch(() => undefined);
  await database.close();

  const restarted = await bench.start(path);

  await expect(restarted.ask()).rejects.toMatchObject({ code: 'GATE_PAUSED' });
  expect(bench.sandbox.arrivals).toHaveLength(3);
});

test('in an hour of 429s with a restart every 2 min, four callers send at most 8 requests', async () => {
  const bench = benchOf({ rate: 0 });
  const { clock, sandbox } = bench;
  const path = await freshMirrorFile();
  // The 429s begin while four requests are under way.
  const first = await bench.start(path, { way: () => [1500, 1500] });
  await times(10, () => first.ask());
  sandbox.script(() => TOO_MANY);
  const before = sandbox.arrivals.length;
  const end = clock.monotonic() + HOUR;
  let process = first;
  while (clock.monotonic() < end) {
    const kill = new AbortController();
    const callers = Array.from({ length: 4 }, () =>
      process.ask({ signal: kill.signal }).catch(() => undefined),
    );
    await clock.sleep(2 * MINUTE);
    kill.abort(new Error('killed'));
    await Promise.all(callers);
    process = await bench.start(path, { way: () => [1500, 1500] });
  }

  expect(sandbox.arrivals.length - before).toBeLessThanOrEqual(8);
});

test('requests under way together that all draw 429 count as one strike', async () => {
  const bench = benchOf();
  const { ask, ledger, events } = await bench.start(await freshMirrorFile(), { way: () => [1500, 1500] });
  await times(10, () => ask());
  const from = bench.sandbox.arrivals.length;
  bench.sandbox.script(() => (bench.sandbox.arrivals.length <= from + 3 ? TOO_MANY : undefined));

  const asked = Promise.all(Array.from({ length: 3 }, () => ask()));
  await bench.clock.sleep(6000);

  expect(await ledger.gateState()).toMatchObject({ strikes: 1 });
  await asked;
  expect(events.map(({ kind }) => kind)).toEqual(['paused', 'opened']);
});

test('a process that begins in a pause of another one reports it once', async () => {
  const bench = benchOf();
  answerWith(bench, { ...TOO_MANY, headers: { 'retry-after': '90' } });
  const path = await freshMirrorFile();
  const [first, second] = [await bench.start(path), await bench.start(path)];
  const asked = first.ask();
  await bench.clock.sleep(SECOND);

  await Promise.all([asked, second.ask(), second.ask()]);

  const paused = first.events.filter(({ kind }) => kind === 'paused');
  expect(paused).toHaveLength(1);
  expect(second.events.filter(({ kind }) => kind === 'paused')).toEqual(paused);
});

test.each([
  [1, 0],
  [0.25, 1],
])('at %s requests a second, the longer gap after a 429 is reported %s times', async (perSecond, reports) => {
  const bench = benchOf();
  answerWith(bench, TOO_MANY);
  const { ask, events } = await bench.start(await freshMirrorFile(), { budget: { perSecond } });
  await ask();
  const before = events.length;
  await ask();
  expect(events.slice(before).filter(({ kind }) => kind === 'slowed')).toHaveLength(reports);
});

test('after a pause the gate sends one trial, and releases the others on its good answer', async () => {
  const bench = benchOf();
  const { sandbox, clock } = bench;
  answerWith(bench, { ...TOO_MANY, headers: { 'retry-after': '10' } });
  const path = await freshMirrorFile();
  const processes = [
    await bench.start(path, { way: () => [10, 4000] }),
    await bench.start(path, { way: () => [10, 4000] }),
  ];
  const asked = Promise.all(processes.flatMap(({ ask }) => Array.from({ length: 3 }, () => ask())));

  await clock.sleep(4010 + 10_000 + 3900);

  expect(sandbox.arrivals).toHaveLength(2);
  await asked;
  expect(sandbox.arrivals).toHaveLength(7);
});

test('after a pause the gate sends one trial, also where requests need not wait for the last answer', async () => {
  const bench = benchOf();
  const { sandbox } = bench;
  const { ask, reported } = await bench.start(await freshMirrorFile(), { way: () => [10, 4000] });
  // After ten answers a process sends before the last answer is in.
  await Promise.all(Array.from({ length: 10 }, () => ask()));
  const before = sandbox.arrivals.length;
  sandbox.script(() => (sandbox.arrivals.length === before + 1 ? TOO_MANY : undefined));
  const refused = ask();
  await reported(1);

  await Promise.all([refused, ask(), ask()]);

  const [trial, next, last] = sandbox.arrivals.slice(before + 1);
  expect(next!.at - trial!.at).toBeGreaterThan(4000);
  expect(last!.at - next!.at).toBeLessThan(4000);
});

test('a 429 for the trial keeps all other requests at the gate', async () => {
  const bench = benchOf();
  const { sandbox, clock } = bench;
  answerWith(bench, TOO_MANY, TOO_MANY);
  const path = await freshMirrorFile();
  const processes = [await bench.start(path), await bench.start(path)];
  const asked = Promise.all(processes.flatMap(({ ask }) => Array.from({ length: 3 }, () => ask())));

  await clock.sleep(34_000);

  expect(sandbox.arrivals).toHaveLength(2);
  await asked;
});

test.each([
  [429, 'pause'],
  [401, 'key'],
] as const)('once the ledger has recorded a %i, it grants no request', async (status, because) => {
  const bench = benchOf();
  answerWith(bench, { status });
  const grants: Grant[] = [];
  const { ask } = await bench.start(await freshMirrorFile(), {
    async onSettled(ledger, id) {
      // Another request of the same process, which the spacing would allow.
      const limits = {
        gapMs: 1000,
        unansweredMs: 5000,
        cap: 5000,
        access: accessId(accessWith(KEY)),
        ownIds: [id],
        bootAt: null,
      };
      grants.push(await ledger.grant(ENTRY, limits, bench.clock.now()));
    },
  });

  await ask().catch(() => undefined);

  expect(grants[0]).toMatchObject({ granted: false, because });
});

test('an answer already under way at the 429 does not end the pause', async () => {
  const bench = benchOf();
  const { ask, ledger } = await bench.start(await freshMirrorFile());
  await times(10, () => ask());
  const from = bench.sandbox.arrivals.length;
  bench.sandbox.script(() => (bench.sandbox.arrivals.length === from + 2 ? TOO_MANY : OK));

  const slow = ask({ way: () => [0, 7000] });
  const throttled = ask();
  await slow;

  expect(await ledger.gateState()).toMatchObject({ strikes: 1 });
  expect(bench.sandbox.arrivals).toHaveLength(from + 2);
  await throttled;
  expect(await ledger.gateState()).toMatchObject({ strikes: 1, pausedUntil: null });
});

test('the answer of a trial does not end a pause that began after the trial had left', async () => {
  const bench = benchOf();
  const { clock, sandbox } = bench;
  const { ask, ledger, reported } = await bench.start(await freshMirrorFile());
  await times(10, () => ask());
  const answers = [TOO_MANY, OK, { ...TOO_MANY, headers: { 'retry-after': '60' } }];
  sandbox.script(() => answers[sandbox.arrivals.length - 11]);

  const trial = ask({ way: () => (sandbox.arrivals.length === 10 ? [0, 0] : [0, 20_000]) });
  await bench.arrived(12);
  // A person opens the gate while the trial is under way. The next request draws a new 429.
  await ledger.openGate(clock.now());
  const next = ask();
  await bench.arrived(13);
  await reported(2);
  const { pausedUntil } = await ledger.gateState();
  expect(pausedUntil?.getTime()).toBeGreaterThan(clock.now() + 30_000);

  expect(await trial).toMatchObject({ ok: true });
  expect(await ledger.gateState()).toMatchObject({ strikes: 1, pausedUntil });
  await next;
  expect(await ledger.gateState()).toMatchObject({ strikes: 1, pausedUntil: null });
});

test('a process that was idle during another one’s pause ends it with its good answer', async () => {
  const bench = benchOf();
  answerWith(bench, OK, TOO_MANY);
  const path = await freshMirrorFile();
  const [idle, busy] = [await bench.start(path), await bench.start(path)];
  await idle.ask();
  const gone = new AbortController();
  const asked = busy.ask({ signal: gone.signal });
  await bench.clock.sleep(4000);
  gone.abort(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
  await bench.clock.sleep(MINUTE);

  await idle.ask();

  expect(await idle.ledger.gateState()).toMatchObject({ strikes: 1, pausedUntil: null });
  expect(idle.events).toEqual([{ kind: 'opened' }]);
});

test('the gate notices within a minute that a person has opened it by hand', async () => {
  const bench = benchOf();
  answerWith(bench, { ...TOO_MANY, headers: { 'retry-after': '7200' } });
  const path = await freshMirrorFile();
  const { ask } = await bench.start(path);
  const asked = ask();
  await bench.clock.sleep(10 * MINUTE);

  await (await bench.start(path)).ledger.openGate(bench.clock.now());
  const opened = bench.clock.monotonic();
  await asked;

  expect(bench.clock.monotonic() - opened).toBeLessThanOrEqual(MINUTE + SECOND);
});
