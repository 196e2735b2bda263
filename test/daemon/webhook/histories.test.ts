import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliverChanges } from '../../../src/daemon/webhook/deliver.ts';
import type { Post } from '../../../src/daemon/webhook/send.ts';
import { targetOf } from '../../../src/mirror/mirror.ts';
import { histories } from '../../support/histories.ts';
import { testLog } from '../../support/log.ts';
import type { TestMirror } from '../../support/mirror.ts';
import { quickMirror } from '../../support/template.ts';

const HISTORIES = histories(3, 100);
const WEBHOOK = {
  url: 'http://receiver.example/hook',
  secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
};
const TARGET = targetOf(WEBHOOK.url);
const BEGUN = { lastId: 0, failures: 0, retryAt: null, cause: null, setAside: 0, setAsideId: null };

const count = fc.integer({ min: 1, max: 30 });
const history = fc.record({
  /** Runs of changes that the receiver refuses for good. */
  refused: fc.array(fc.record({ from: fc.nat(80), many: count }), { maxLength: 5 }),
  /** Deliveries during which it refuses every change; 0: it does not answer. */
  outages: fc.array(
    fc.record({ from: fc.nat(200), many: count, status: fc.constantFrom(400, 413, 503, 429, 0) }),
    { maxLength: 3 },
  ),
  /** It accepts so many changes at a time. */
  most: fc.constantFrom(1, 7, 100),
  /** It answers 429 to a delivery that follows another one within so many ms. */
  gapMs: fc.constantFrom(0, 0, 1000, 5000),
  /** The daemon is restarted after so many deliveries. */
  restarts: fc.array(fc.integer({ min: 5, max: 60 }), { maxLength: 3 }),
});

async function changeIds({ database }: TestMirror): Promise<number[]> {
  return (await database.query<{ id: number }>('SELECT id FROM changes ORDER BY id')).map(({ id }) => id);
}

async function mirrorWithChanges(): Promise<{ mirror: TestMirror; ids: readonly number[] }> {
  const mirror = await quickMirror({ sandbox: { conversations: [20] } });
  await mirror.sync();
  await mirror.writer.deliveries.write(TARGET, BEGUN, mirror.clock.now());
  let ids: number[] = [];
  while (ids.length < 90) {
    mirror.sandbox.applyEvents(20);
    await mirror.sync();
    ids = await changeIds(mirror);
  }
  return { mirror, ids };
}

function start({ writer, clock }: TestMirror, post: Post): () => Promise<void> {
  const stop = new AbortController();
  const { log } = testLog('fatal');
  const ended = deliverChanges({ mirror: writer, clock, log, post, webhook: WEBHOOK, signal: stop.signal });
  return async () => {
    stop.abort();
    await ended;
  };
}

test(
  'whatever a receiver refuses, it gets every other change, through outages and restarts of the daemon',
  async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ refused, outages, most, gapMs, restarts }) => {
        const { mirror, ids } = await mirrorWithChanges();
        const bad = new Set(refused.flatMap(({ from, many }) => ids.slice(from, from + many)));
        const good = ids.filter((id) => !bad.has(id));
        const taken = new Set<number>();
        let nth = 0;
        let last = Number.NEGATIVE_INFINITY;
        const post: Post = async (_url, _headers, body) => {
          nth += 1;
          await mirror.clock.sleep(100);
          if (mirror.clock.now() - last < gapMs) return { status: 429, retryAfter: undefined, problem: null };
          last = mirror.clock.now();
          const { data } = JSON.parse(body) as { data: { changes: { id: number }[] } };
          const isBad = data.changes.some(({ id }) => bad.has(id));
          const refusal = isBad ? 400 : data.changes.length > most ? 413 : 204;
          const outage = outages.find(({ from, many }) => nth > from && nth <= from + many);
          const status = outage?.status ?? refusal;
          if (status === 204) for (const { id } of data.changes) taken.add(id);
          return { status: status === 0 ? null : status, retryAfter: undefined, problem: null };
        };
        let stop = start(mirror, post);
        const waiting = [...restarts];
        const isDone = async (): Promise<boolean> =>
          taken.size === good.length &&
          ((await mirror.writer.deliveries.read(TARGET))?.lastId ?? 0) >= (good.at(-1) ?? 0);
        for (let turn = 0; turn < 60_000 && !(await isDone()); turn += 1) {
          await new Promise(setImmediate);
          if (nth < (waiting[0] ?? Infinity)) continue;
          waiting.shift();
          await stop();
          stop = start(mirror, post);
        }
        await stop();
        expect(good.filter((id) => !taken.has(id))).toEqual([]);
        expect(await isDone(), 'the cursor is past the last change that it accepts').toBe(true);
        await mirror.database.close();
      }),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);
