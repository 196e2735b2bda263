import { expect, test } from 'vitest';
import { HOUR } from '../../../src/core/clock.ts';
import { NO_FIGURES } from '../../../src/sync/events.ts';
import { listId } from '../../../src/core/lists.ts';
import { createMetrics } from '../../../src/daemon/http/metrics.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import { passSpec } from '../../support/pass-spec.ts';
import { type Served, served } from './served.ts';

/** The samples of a text in Prometheus format, by name and labels. Fails where a strict parser would. */
function samplesOf(text: string): Map<string, number> {
  const types = new Map<string, string>();
  const helps = new Set<string>();
  const samples = new Map<string, number>();
  expect(text.endsWith('\n'), 'the last line ends').toBe(true);
  let current = '';
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, name, rest] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      expect(helps.has(name!), `${name} has one HELP`).toBe(false);
      helps.add(name!);
      current = name!;
    } else if (kind === 'TYPE') {
      expect(types.has(name!), `${name} has one TYPE`).toBe(false);
      expect(rest).toMatch(/^(counter|gauge|histogram|summary)$/);
      expect(name, 'TYPE follows its HELP').toBe(current);
      types.set(name!, rest!);
    } else {
      const sample = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$/.exec(
        line,
      );
      expect(sample, line).not.toBeNull();
      const [, sampleName, labels = '', value] = sample!;
      const family =
        types.get(current) === 'histogram' ? sampleName!.replace(/_(bucket|sum|count)$/, '') : sampleName;
      expect(family, 'a sample stands below its TYPE').toBe(current);
      expect(value, line).toMatch(/^-?\d+(\.\d+)?(e[+-]?\d+)?$/);
      const id = labels === '' ? sampleName! : `${sampleName}{${labels}}`;
      expect(samples.has(id), `${id} once`).toBe(false);
      samples.set(id, Number(value));
    }
  }
  return samples;
}

async function scrape({ ask }: Served): Promise<Map<string, number>> {
  const { status, headers, body } = await ask('/metrics');
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  return samplesOf(body);
}

function valuesOf(samples: Map<string, number>, name: string): Record<string, number> {
  return Object.fromEntries([...samples].filter(([id]) => id === name || id.startsWith(`${name}{`)));
}

test('before the first request every counter is 0, and the process metrics are present', async () => {
  const samples = await scrape(await served());
  for (const status of ['200', '429', '500', 'none'])
    expect(samples.get(`inbox_mirror_requests_total{status="${status}"}`)).toBe(0);
  for (const list of ['inboxes', 'users', 'tags', 'conversations']) {
    expect(samples.get(`inbox_mirror_pages_total{list="${list}"}`)).toBe(0);
    expect(samples.get(`inbox_mirror_sweep_seconds_count{list="${list}"}`)).toBe(0);
    for (const outcome of ['inserted', 'changed', 'tombstoned', 'rejected'])
      expect(samples.get(`inbox_mirror_rows_total{list="${list}",outcome="${outcome}"}`)).toBe(0);
    for (const outcome of ['complete', 'paused', 'failed'])
      expect(samples.get(`inbox_mirror_sweeps_total{list="${list}",outcome="${outcome}"}`)).toBe(0);
  }
  expect(samples.get('inbox_mirror_gate_wait_seconds_count')).toBe(0);
  expect(samples.get('inbox_mirror_request_seconds_count')).toBe(0);
  expect(samples.get('inbox_mirror_info{version="1.2.3"}')).toBe(1);
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
});

test('the metrics count requests, pages, rows and sweeps of a pass', async () => {
  const all = await served();
  await all.sync();
  const samples = await scrape(all);
  expect(samples.get('inbox_mirror_requests_total{status="200"}')).toBe(9);
  expect(samples.get('inbox_mirror_request_seconds_count')).toBe(9);
  expect(samples.get('inbox_mirror_gate_wait_seconds_count')).toBe(9);
  expect(valuesOf(samples, 'inbox_mirror_pages_total')).toEqual({
    'inbox_mirror_pages_total{list="inboxes"}': 1,
    'inbox_mirror_pages_total{list="users"}': 2,
    'inbox_mirror_pages_total{list="tags"}': 2,
    'inbox_mirror_pages_total{list="conversations"}': 4,
  });
  expect(samples.get('inbox_mirror_rows_total{list="conversations",outcome="inserted"}')).toBe(270);
  expect(samples.get('inbox_mirror_sweeps_total{list="conversations",outcome="complete"}')).toBe(2);
  expect(samples.get('inbox_mirror_sweep_seconds_count{list="conversations"}')).toBe(2);
});

test('the metrics count changed, tombstoned and rejected rows separately', async () => {
  const all = await served({ sandbox: { conversations: [10], idType: 'string' } });
  await all.sync();
  const { world } = all.mirror.sandbox;
  const inbox = world.inboxes.values().next().value!;
  world.setStatus(inbox.id, inbox.conversations.order[0]!, 'somewhere else');
  world.removeConversation(inbox.id, inbox.conversations.order[1]!);
  await all.sync();
  const samples = await scrape(all);
  const rows = (outcome: string) =>
    samples.get(`inbox_mirror_rows_total{list="conversations",outcome="${outcome}"}`);
  expect({
    inserted: rows('inserted'),
    changed: rows('changed'),
    tombstoned: rows('tombstoned'),
    rejected: rows('rejected'),
  }).toEqual({
    inserted: 10,
    changed: 1,
    tombstoned: 1,
    rejected: 0,
  });
});

test('the metrics count a request by its status or as none, with its times in seconds', async () => {
  const all = await served();
  all.metrics.requestEnded({ status: 429, waitedMs: 1500, durationMs: 200 });
  all.metrics.requestEnded({ status: null, waitedMs: 500, durationMs: 30_000 });
  const samples = await scrape(all);
  expect(samples.get('inbox_mirror_requests_total{status="429"}')).toBe(1);
  expect(samples.get('inbox_mirror_requests_total{status="none"}')).toBe(1);
  expect(samples.get('inbox_mirror_gate_wait_seconds_sum')).toBe(2);
  expect(samples.get('inbox_mirror_gate_wait_seconds_bucket{le="1"}')).toBe(1);
  expect(samples.get('inbox_mirror_request_seconds_sum')).toBeCloseTo(30.2);
  expect(samples.get('inbox_mirror_request_seconds_bucket{le="0.25"}')).toBe(1);
});

test('the metrics count rows as they are applied, also in a sweep that pauses and resumes', async () => {
  const all = await served({ sandbox: { inboxes: 1, conversations: [95] }, pageSize: 10 });
  const { sandbox } = all.mirror;
  sandbox.script(() => (sandbox.arrivals.length > 6 ? 'reset' : undefined));
  expect((await all.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
  sandbox.script(undefined);
  expect((await all.sync()).stopped).toBeNull();
  const samples = await scrape(all);
  expect(samples.get('inbox_mirror_rows_total{list="conversations",outcome="inserted"}')).toBe(95);
});

test('the metrics time only sweeps that complete, from their start to their end', async () => {
  const all = await served();
  const key = { list: 'tags', inboxId: '7' } as const;
  const other = { list: 'tags', inboxId: '8' } as const;
  all.metrics.passEvent({ kind: 'list-begun', key, resumedAtPage: 0 });
  all.clock.advance(60_000);
  all.metrics.passEvent({ kind: 'list-begun', key: other, resumedAtPage: 0 });
  all.clock.advance(30_000);
  all.metrics.passEvent({ kind: 'list-done', report: { ...NO_FIGURES, key, outcome: 'complete' } });
  all.metrics.passEvent({ kind: 'list-done', report: { ...NO_FIGURES, key: other, outcome: 'paused' } });
  all.metrics.passEvent({ kind: 'list-done', report: { ...NO_FIGURES, key, outcome: 'already' } });
  const samples = await scrape(all);
  expect(samples.get('inbox_mirror_sweep_seconds_count{list="tags"}')).toBe(1);
  expect(samples.get('inbox_mirror_sweep_seconds_sum{list="tags"}')).toBe(90);
  expect(valuesOf(samples, 'inbox_mirror_sweeps_total')).toMatchObject({
    'inbox_mirror_sweeps_total{list="tags",outcome="complete"}': 1,
    'inbox_mirror_sweeps_total{list="tags",outcome="paused"}': 1,
  });
  expect(JSON.stringify(valuesOf(samples, 'inbox_mirror_sweeps_total'))).not.toContain('already');
});

test('the metrics report budget, gate, outage, lease and database size', async () => {
  const all = await served();
  await all.sync();
  await mirrorOn(all.mirror.database).orders.place(
    passSpec({ kind: 'resync', lists: ['tags'] }),
    all.clock.now(),
  );
  const samples = await scrape(all);
  const gauge = (name: string) => samples.get(`inbox_mirror_${name}`);
  expect([
    gauge('budget_limit'),
    gauge('budget_reserved'),
    gauge('budget_used'),
    gauge('budget_left'),
  ]).toEqual([5000, 250, 9, 4991]);
  expect([gauge('outage'), gauge('lease_held'), gauge('orders_waiting')]).toEqual([0, 1, 1]);
  expect(gauge('database_bytes')).toBeGreaterThan(100_000);
  expect(valuesOf(samples, 'inbox_mirror_gate_state')).toEqual({
    'inbox_mirror_gate_state{state="open"}': 1,
    'inbox_mirror_gate_state{state="paused"}': 0,
    'inbox_mirror_gate_state{state="breaker"}': 0,
    'inbox_mirror_gate_state{state="key-refused"}': 0,
  });
});

test('the metrics report what requests were for, and how current the pages are', async () => {
  const all = await served();
  const names = ['requests_spent', 'current_share', 'oldest_page_seconds'];
  const read = async () => {
    const samples = await scrape(all);
    return names.flatMap((name) => Object.values(valuesOf(samples, `inbox_mirror_${name}`)));
  };
  expect(await read(), 'no pages, no share').toEqual([0, 0, 0, 0]);
  await all.sync();
  all.clock.advance(HOUR);
  const samples = await scrape(all);
  expect(valuesOf(samples, 'inbox_mirror_requests_spent')).toEqual({
    'inbox_mirror_requests_spent{kind="whole_lists"}': 0,
    'inbox_mirror_requests_spent{kind="single_pages"}': 0,
    'inbox_mirror_requests_spent{kind="lookups"}': 0,
    'inbox_mirror_requests_spent{kind="commands"}': 9,
  });
  const share = samples.get('inbox_mirror_current_share')!;
  expect(share).toBeGreaterThan(0.5);
  expect(share).toBeLessThan(1);
  expect(samples.get('inbox_mirror_oldest_page_seconds')).toBeCloseTo(3600, -1);
});

test('the metrics report a closed gate, an outage and a standby', async () => {
  const all = await served({}, { role: () => 'standby' });
  all.mirror.sandbox.script(() => ({ status: 401, body: '{}' }));
  await all.sync();
  await all.mirror.writer.writeOutage({
    since: new Date(all.clock.now()),
    until: new Date(all.clock.now() + HOUR),
    cause: 'no answer',
  });
  const samples = await scrape(all);
  expect(samples.get('inbox_mirror_gate_state{state="key-refused"}')).toBe(1);
  expect(samples.get('inbox_mirror_gate_state{state="open"}')).toBe(0);
  expect(samples.get('inbox_mirror_outage')).toBe(1);
  expect(samples.get('inbox_mirror_lease_held')).toBe(0);
});

test('the metrics have the delay of changes once there are 10 of them', async () => {
  const all = await served();
  const { mirror, clock } = all;
  for (let n = 1; n <= 10; n += 1) {
    if (n === 10) expect(valuesOf(await scrape(all), 'inbox_mirror_change_delay_seconds')).toEqual({});
    const at = (ms: number): string => new Date(clock.now() - ms).toISOString().replace('Z', '+00:00');
    await mirror.database.execute(
      `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, sweep_id)
       VALUES ($1, $2, 'conversations', '7', $3, 'status', 1)`,
      at(1000),
      at(61_000),
      String(n),
    );
  }
  clock.advance(2000);
  expect(valuesOf(await scrape(all), 'inbox_mirror_change_delay_seconds')).toEqual({
    'inbox_mirror_change_delay_seconds{quantile="0.5"}': 60,
    'inbox_mirror_change_delay_seconds{quantile="0.95"}': 60,
  });
});

test('a list that was never complete has no age and is not fresh in the metrics', async () => {
  const samples = await scrape(await served());
  expect(valuesOf(samples, 'inbox_mirror_list_age_seconds')).toEqual({});
  expect(valuesOf(samples, 'inbox_mirror_list_rows')).toEqual({});
  expect(valuesOf(samples, 'inbox_mirror_list_fresh')).toEqual({
    'inbox_mirror_list_fresh{list="inboxes",inbox_id=""}': 0,
  });
});

test('the metrics report age, freshness, promise and rows of a list until its inbox is gone', async () => {
  const all = await served({ sandbox: { idType: 'string' } });
  await all.sync();
  const [first, second] = [...all.mirror.sandbox.world.inboxes.values()].map(({ id }) => id);
  all.clock.advance(HOUR);
  const samples = await scrape(all);
  const of = (name: string, id = first) =>
    samples.get(`inbox_mirror_list_${name}{list="conversations",inbox_id="${id}"}`);
  const { judged, now } = await all.status();
  const { completeAsOf } = judged.find((list) => listId(list) === `conversations/${first}`)!;
  expect(of('age_seconds')).toBe((now - completeAsOf!.getTime()) / 1000);
  expect(of('age_seconds')).toBeGreaterThanOrEqual(3600);
  expect([of('fresh'), of('rows'), of('rows', second)]).toEqual([0, 230, 40]);
  expect(samples.get(`inbox_mirror_list_fresh{list="users",inbox_id="${first}"}`)).toBe(1);
  expect(valuesOf(samples, 'inbox_mirror_list_promise_seconds')).toMatchObject({
    'inbox_mirror_list_promise_seconds{list="inboxes"}': expect.closeTo(7200, 0),
    'inbox_mirror_list_promise_seconds{list="conversations"}': expect.closeTo(1800, 0),
  });
  const names = valuesOf(samples, 'inbox_mirror_inbox_info');
  const [busy, other] = [first, second].map((id) => all.mirror.sandbox.world.inboxes.get(id!)!.display_name);
  expect(names).toEqual({
    [`inbox_mirror_inbox_info{inbox_id="${first}",inbox="${busy}"}`]: 1,
    [`inbox_mirror_inbox_info{inbox_id="${second}",inbox="${other}"}`]: 1,
  });
  await all.mirror.database.execute(`UPDATE inboxes SET deleted_at = first_seen_at WHERE id = $1`, second);
  await all.mirror.database.execute(`UPDATE inboxes SET display_name = $1 WHERE id = $2`, 'a "b"\n', first);
  all.clock.advance(1000);
  const later = await scrape(all);
  const labels = [...later.keys()].filter((id) => id.startsWith('inbox_mirror_list_'));
  expect(labels.some((id) => id.includes(`"${first}"`))).toBe(true);
  expect(labels.some((id) => id.includes(`"${second}"`))).toBe(false);
  // A new name replaces the old one, and is escaped.
  expect(Object.keys(valuesOf(later, 'inbox_mirror_inbox_info'))).toEqual([
    `inbox_mirror_inbox_info{inbox_id="${first}",inbox="a \\"b\\"\\n"}`,
  ]);
});

test('concurrent scrapes return only valid numbers', async () => {
  const all = await served();
  const texts = await Promise.all([1, 2, 3, 4, 5].map(() => all.ask('/metrics')));
  for (const { body } of texts) samplesOf(body);
});

test('two daemons in one process do not share their metrics', async () => {
  const clock = { monotonic: () => 0 };
  const [one, other] = [createMetrics({ version: '1', clock }), createMetrics({ version: '2', clock })];
  one.requestEnded({ status: 200, waitedMs: 0, durationMs: 1 });
  const all = await served();
  const status = await all.status();
  const text = await other.render({ status, details: status, isActive: true, databaseBytes: 1 });
  expect(samplesOf(text).get('inbox_mirror_requests_total{status="200"}')).toBe(0);
});
