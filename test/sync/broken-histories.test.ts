import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { INBOXES } from '../../src/core/lists.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import { listPath } from '../../src/service/paths.ts';
import { Cron } from '../support/cron.ts';
import { histories } from '../support/histories.ts';
import { expectEqualToService } from '../support/truth.ts';

const HISTORIES = histories(2, 100);

const FAILURES: Readonly<Record<string, ScriptedOutcome>> = {
  'HTTP 500': { status: 500 },
  reset: 'reset',
  'asks to wait an hour': { status: 503, headers: { 'retry-after': '3600' } },
  'asks to wait five hours': { status: 503, headers: { 'retry-after': '18000' } },
  'asks to wait ten seconds': { status: 503, headers: { 'retry-after': '10' } },
  'HTTP 429': { status: 429 },
  'HTTP 429 for ten minutes': { status: 429, headers: { 'retry-after': '600' } },
  'HTTP 429 for an hour': { status: 429, headers: { 'retry-after': '3600' } },
  'HTTP 403': { status: 403 },
  'HTTP 404': { status: 404 },
  'cut short': { status: 200, body: '{"results":[{"id":"1"' },
  'another object': { status: 200, body: '{"a":1}' },
};

const fault = fc.record({
  list: fc.constantFrom('users', 'tags', 'conversations'),
  /** Null: in each inbox. */
  inbox: fc.option(fc.nat(6)),
  failure: fc.constantFrom(...Object.keys(FAILURES), 'hangs'),
  /** The list begins to fail this many hours after the start of the scenario. */
  afterHours: fc.nat(3),
});
const scenario = fc.record({
  inboxes: fc.integer({ min: 1, max: 7 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 4 }),
  /** How `/inboxes` fails. A 403 for it concerns the key, and is not in this test. */
  ofInboxes: fc.constantFrom(null, 'HTTP 500', 'asks to wait an hour', 'HTTP 429', 'another object'),
  /** Each run is stopped after so many seconds. */
  timeout: fc.constantFrom(null, 60, 120),
  everyMinutes: fc.constantFrom(15, 30, 60, 61),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

interface Broken {
  readonly failure: string;
  /** Milliseconds after the first one fails. */
  readonly afterMs: number;
}

/** How and from when on the lists of a scenario fail, by path. */
function brokenPaths({ ids }: Cron, { faults, ofInboxes }: Scenario): Map<string, Broken> {
  const broken = new Map<string, Broken>();
  for (const { list, inbox, failure, afterHours } of faults)
    for (const [nth, id] of ids.entries())
      if (inbox === null || inbox % ids.length === nth)
        broken.set(listPath({ list, inboxId: id }), { failure, afterMs: afterHours * HOUR });
  if (ofInboxes !== null) broken.set(listPath(INBOXES), { failure: ofInboxes, afterMs: 0 });
  return broken;
}

test(
  'whatever lists fail, and however, syncs by cron read all others, spend little, and heal',
  async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const { inboxes, everyMinutes, timeout } = given;
        const everyMs = everyMinutes * MINUTE;
        const cron = await Cron.with({
          sandbox: { conversations: Array.from({ length: inboxes }, () => 12) },
        });
        const { sandbox } = cron.service;
        await cron.sync();
        cron.clock.advance(HOUR);
        if (timeout !== null) cron.timeoutMs = timeout * SECOND;
        const broken = brokenPaths(cron, given);
        const plain = (path: string): string => path.replace(/^\/v1/, '').replace(/\?.*/, '');
        const begun = cron.clock.now();
        const failureOf = (path: string): string | undefined => {
          const one = broken.get(path);
          return one !== undefined && cron.clock.now() - begun >= one.afterMs ? one.failure : undefined;
        };
        cron.hangs = (path) => failureOf(path) === 'hangs';
        sandbox.script(({ path }) => FAILURES[failureOf(plain(path)) ?? '']);
        const failures = [...broken.values()].map(({ failure }) => failure);
        const lastMs = Math.max(...[...broken.values()].map(({ afterMs }) => afterMs));
        const isAny = (text: string): boolean => failures.some((failure) => failure.includes(text));
        // 429s pause the gate for up to an hour, until ten other requests were served.
        const ofOne = inboxes === 1 ? 2.5 : 1;
        const pauseMs = ofOne * (isAny('429 for an hour') ? 20 : isAny('429') ? 4 : 0) * HOUR;
        // A list that hangs can end two runs before it is read last.
        const hanging = failures.filter((failure) => failure === 'hangs').length;
        const learnMs = lastMs + 5 * HOUR + pauseMs + 3 * hanging * everyMs;
        // A pass that stays open for failing lists alone ends after an hour.
        const runs = timeout === null ? 2.5 : 4;
        const oldestMs = pauseMs + HOUR + runs * everyMs;
        for (let passed = 0; passed <= learnMs + 9 * HOUR; passed += everyMs) {
          const { requests } = await cron.sync();
          const ages = await cron.ages((path) => broken.has(path));
          for (const [list, ageMs] of passed < learnMs ? [] : ages)
            expect(ageMs, `${list} after ${passed / MINUTE} minutes`).toBeLessThan(oldestMs);
          // At most: each page once, and four failing kinds.
          const pages = 2 * ages.size + 5 * broken.size;
          expect(requests, `after ${passed / MINUTE} minutes`).toBeLessThanOrEqual(pages + 4 * 6);
          cron.clock.advance(everyMs);
        }
        cron.timeoutMs = null;
        cron.hangs = () => false;
        sandbox.script(undefined);
        cron.clock.advance(6 * HOUR);
        await cron.sync();
        cron.clock.advance(HOUR);
        const { mirror } = await cron.sync();
        await expectEqualToService(mirror);
        await cron.close();
      }),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);
