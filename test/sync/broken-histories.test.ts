import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { INBOXES, keysByInbox, listId } from '../../src/core/lists.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import { listPath } from '../../src/service/paths.ts';
import { TestClock } from '../support/clock.ts';
import { histories } from '../support/histories.ts';
import { memoryService, type TestMirror, type TestService } from '../support/mirror.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const HISTORIES = histories(3, 100);

const FAILURES: Readonly<Record<string, ScriptedOutcome>> = {
  'HTTP 500': { status: 500 },
  reset: 'reset',
  'asks to wait an hour': { status: 503, headers: { 'retry-after': '3600' } },
  'asks to wait five hours': { status: 503, headers: { 'retry-after': '18000' } },
  'asks to wait ten seconds': { status: 503, headers: { 'retry-after': '10' } },
  'HTTP 429': { status: 429 },
  'HTTP 403': { status: 403 },
  'HTTP 404': { status: 404 },
  'cut short': { status: 200, body: '{"results":[{"id":"1"' },
  'another object': { status: 200, body: '{"a":1}' },
};

const fault = fc.record({
  list: fc.constantFrom('users', 'tags', 'conversations'),
  /** Null: in each inbox. */
  inbox: fc.option(fc.nat(6)),
  failure: fc.constantFrom(...Object.keys(FAILURES)),
});
const scenario = fc.record({
  inboxes: fc.integer({ min: 1, max: 7 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 4 }),
  /** How `/inboxes` fails. A 403 or a 429 for it concerns all lists, and is not in this test. */
  ofInboxes: fc.constantFrom(null, 'HTTP 500', 'asks to wait an hour', 'another object'),
  everyMinutes: fc.constantFrom(15, 30, 60, 61),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

/** The names of a scenario's failures, by path. */
function brokenPaths({ sandbox }: TestService, { faults, ofInboxes }: Scenario): Map<string, string> {
  const ids = [...sandbox.world.inboxes.keys()];
  const broken = new Map<string, string>();
  for (const { list, inbox, failure } of faults)
    for (const [nth, id] of ids.entries())
      if (inbox === null || inbox % ids.length === nth) broken.set(listPath({ list, inboxId: id }), failure);
  if (ofInboxes !== null) broken.set(listPath(INBOXES), ofInboxes);
  return broken;
}

/** A mirror whose every sync is a process of its own, as by cron. */
class Cron {
  readonly clock = new TestClock();
  readonly service: TestService;
  readonly #path: string;
  #open: TestMirror | null = null;

  private constructor(path: string, inboxes: number) {
    this.#path = path;
    const conversations = Array.from({ length: inboxes }, () => 12);
    this.service = memoryService({ conversations, idType: 'string' }, this.clock);
  }

  static async with(inboxes: number): Promise<Cron> {
    return new Cron(await freshMirrorFile(), inboxes);
  }

  /** @returns the mirror after a sync, and the number of its requests */
  async sync(): Promise<{ mirror: TestMirror; requests: number }> {
    await this.close();
    const { clock, service } = this;
    const gate = { patienceMs: 2 * MINUTE };
    this.#open = await quickMirror({ path: this.#path, clock, service, gate, pageSize: 10 });
    const before = service.sandbox.arrivals.length;
    await this.#open.sync();
    return { mirror: this.#open, requests: service.sandbox.arrivals.length - before };
  }

  async close(): Promise<void> {
    await this.#open?.lease.release();
    await this.#open?.database.close();
  }
}

test(
  'whatever lists fail, and however, syncs by cron read all others, spend little, and heal',
  async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const { inboxes, everyMinutes } = given;
        const cron = await Cron.with(inboxes);
        const { clock, service } = cron;
        const { sandbox } = service;
        await cron.sync();
        clock.advance(HOUR);
        const broken = brokenPaths(service, given);
        sandbox.script(({ path }) => {
          const failure = broken.get(path.replace(/^\/v1/, '').replace(/\?.*/, ''));
          return failure === undefined ? undefined : FAILURES[failure];
        });
        const healthy = keysByInbox([...sandbox.world.inboxes.values()]).filter(
          (key) => !broken.has(listPath(key)),
        );
        // 429s pause the gate for up to an hour, until ten other requests were served.
        const pause = [...broken.values()].includes('HTTP 429') ? 3 * HOUR : 0;
        // A pass that stays open for failing kinds alone ends after an hour.
        const oldestMs = pause + HOUR + 2.5 * everyMinutes * MINUTE;
        for (let minute = 0; minute <= 14 * 60; minute += everyMinutes) {
          const { mirror, requests } = await cron.sync();
          for (const key of minute < 5 * 60 ? [] : healthy) {
            const last = (await mirror.writer.sweeps.lastComplete(key))?.finishedAt.getTime() ?? 0;
            expect(clock.now() - last, `${listId(key)} in minute ${minute}`).toBeLessThan(oldestMs);
          }
          // At most: each page once, and four failing kinds.
          const pages = 2 * healthy.length + 5 * broken.size;
          expect(requests, `in minute ${minute}`).toBeLessThanOrEqual(pages + 4 * 6);
          clock.advance(everyMinutes * MINUTE);
        }
        sandbox.script(undefined);
        clock.advance(6 * HOUR);
        await cron.sync();
        clock.advance(HOUR);
        const { mirror } = await cron.sync();
        await expectEqualToService(mirror);
        await cron.close();
      }),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);
