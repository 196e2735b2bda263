import { expect, test, vi } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { type Answered, type Served, served } from '../daemon/http/served.ts';
import { cronsOfAll } from '../support/crons.ts';
import { firstIds, firstInbox, nthInbox, removeConversations } from '../support/rows.ts';
import { rule } from '../support/rule.ts';
import { ask as askView } from '../views/support.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

const visit = (ask: Served['ask'], path: string, headers = {}): Promise<Answered> =>
  ask(path, { headers: { ...BROWSER, ...headers } });

/** A page once its history is counted. */
async function counted(ask: Served['ask'], path: string): Promise<string> {
  for (;;) {
    const { body } = await visit(ask, path);
    if (!body.includes('http-equiv="refresh"')) return body.replaceAll(/\s+/g, ' ');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

rule('a browser gets the overview at /, and a program the list of endpoints', async () => {
  let fault: string | null = null;
  const { ask, sync } = await served({}, { fault: () => fault });
  await sync();
  const page = await visit(ask, '/');
  expect(page.status).toBe(200);
  expect(page.body).not.toContain('role="alert"');
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.body).toContain('<h1>Overview</h1>');
  expect((await ask('/', { headers: { accept: '*/*' } })).body).toContain('/status.json');
  fault = 'The file mirror.db was deleted.';
  for (const path of ['/', '/engine', '/ask'])
    expect((await visit(ask, path)).body).toContain(`role="alert">${fault}</p>`);
});

test('the overview counts what is open, pending, unassigned and closed, and names each inbox', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const counts = await mirror.database.query<{ inbox: string; open: number; unassigned: number }>(
    'SELECT inbox, open, unassigned FROM backlog_now',
  );
  const { body } = await visit(ask, '/');
  const open = counts.reduce((sum, row) => sum + row.open, 0);
  expect(body).toMatch(new RegExp(`<dt>Open</dt>\\s*<dd>${open}</dd>`));
  for (const { inbox, unassigned } of counts)
    expect(body).toMatch(new RegExp(`>${inbox}</bdi>[^]*<td class="n">${unassigned}</td>`));
});

rule('a page whose code cannot be loaded once is shown the next time', async () => {
  const { ask, sync } = await served();
  await sync();
  const people = '../../src/web/people/page.ts';
  vi.doMock(people, () => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  });
  expect((await visit(ask, '/people')).status).toBe(500);
  vi.doUnmock(people);
  expect((await visit(ask, '/people')).status).toBe(200);
});

rule('every page forbids scripts, styles, frames and forms of other origins', async () => {
  const { ask } = await served();
  const { headers } = await visit(ask, '/');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';" +
      "form-action 'self';base-uri 'none';frame-ancestors 'none'",
  );
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-store',
  });
});

rule('no page has a script or a style of its own', async () => {
  const { ask, sync } = await served();
  await sync();
  const { body } = await visit(ask, '/');
  expect(body).not.toMatch(/<style|style=|javascript:|\son\w+=/i);
  expect(body.match(/<script[^>]*>[^<]*/g)).toEqual([
    expect.stringMatching(/^<script type="module" src="\/assets\/live\.js\?v=[\w-]{12}">$/),
  ]);
});

rule('names of customers and colleagues are text, never HTML', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const name = `<script>alert(1)</script> "شكاوى" 🎉`;
  await mirror.database.execute('UPDATE inboxes SET display_name = $1', name);
  const { body } = await visit(ask, '/');
  expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &quot;شكاوى&quot; 🎉</bdi>');
  expect(body).not.toContain('<script>alert');
});

test('an empty mirror says that the first copy is missing, and looks again by itself', async () => {
  const { ask } = await served();
  const { status, body } = await visit(ask, '/');
  expect(status).toBe(200);
  expect(body).toContain('This mirror is empty, and no daemon fills it.');
  expect(body).toContain('<meta http-equiv="refresh" content="5"');
});

test('an empty mirror says that its daemon has ended or cannot write', async () => {
  const { ask, mirror, clock } = await served();
  const renewed = async (ago: number): Promise<string> => {
    clock.advance(2000);
    const now = clock.now();
    await mirror.database.execute(
      `UPDATE leases SET command = 'inbox-mirror start', heartbeat_at = $1, expires_at = $2`,
      iso(now - ago),
      iso(now - ago + 20_000),
    );
    return (await visit(ask, '/')).body;
  };
  expect(await renewed(0)).toContain('The daemon makes the first copy.');
  const silent = await renewed(60_000);
  expect(silent).toContain('The daemon has ended or cannot write, so the first copy does not grow.');
  expect(silent).not.toContain('makes the first copy');
});

rule('the stamp says as of when the figures are true, and turns amber when a list is stale', async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  const { body } = await visit(ask, '/');
  expect(body).toMatch(/<p class="stamp">\s*As of\s*<time/);
  await mirror.writer.keepSlots(cronsOfAll('*/15 * * * *', { others: '0 0 1 1 *' }), clock.now());
  clock.advance(2000);
  expect((await visit(ask, '/')).body).toMatch(/class="stamp late">.*older than its schedule allows/s);
});

rule('a page travels compressed to a client that accepts gzip', async () => {
  const { url } = await served();
  const raw = await fetch(url, { headers: { ...BROWSER, 'accept-encoding': 'gzip' } });
  expect(raw.headers.get('content-encoding')).toBe('gzip');
  expect(await raw.text()).toContain('</html>');
  expect(
    (await fetch(url, { headers: { ...BROWSER, 'accept-encoding': 'gzip;q=0' } })).headers.get(
      'content-encoding',
    ),
  ).toBe(null);
});

rule('a page of another site can link to the pages, and cannot load them unseen', async () => {
  const { ask } = await served();
  const crossSite = { 'sec-fetch-site': 'cross-site' };
  expect(
    (await visit(ask, '/', { ...crossSite, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' })).status,
  ).toBe(403);
  expect(
    (await visit(ask, '/', { ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }))
      .status,
  ).toBe(403);
  expect(
    (await visit(ask, '/', { ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }))
      .status,
  ).toBe(200);
});

test('a mirror that cannot be read answers 503 with a sentence, and the page recovers', async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  await mirror.database.execute('ALTER TABLE report_days RENAME TO away');
  await mirror.database.execute('DROP VIEW backlog_now');
  const broken = await visit(ask, '/');
  expect(broken.status).toBe(503);
  expect(broken.body).toContain('<h1>The mirror does not answer</h1>');
  clock.advance(2000);
});

rule('assets are kept by browsers, under addresses that change with their content', async () => {
  const { ask } = await served();
  const { body } = await visit(ask, '/');
  const paths = [...body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(new Set(paths).size).toBe(3);
  for (const path of paths) {
    const { status, headers } = await ask(path);
    expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
  }
});

rule('a person gets a page for every error, and a program JSON', async () => {
  const { ask, url } = await served();
  const missing = await visit(ask, '/inbxes/<b>');
  expect([missing.status, missing.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
  expect(missing.body).toContain('<h1>There is no such page</h1>');
  expect(missing.headers['content-security-policy']).toMatch(/^default-src 'none';/);
  const program = await ask('/inbxes');
  expect(program.json).toEqual({ error: 'There is no such endpoint; / lists all endpoints.' });
  const host = { host: 'evil.example' };
  expect((await visit(ask, '/', host)).body).toMatch(/<h1>Not under this name<.*&quot;evil\.example&quot;/s);
  expect((await visit(ask, '/changes?limit=x')).body).toContain('<h1>This request is wrong</h1>');
  const sent = await fetch(url, { method: 'DELETE', headers: BROWSER });
  expect([sent.status, (await sent.text()).includes('use GET or HEAD')]).toEqual([405, true]);
});

rule(
  'during the first copy every figure says that it counts only a part, and how far the copy is',
  async () => {
    const { ask, sync, clock, mirror } = await served();
    await sync({ lists: ['inboxes', 'users', 'tags'] });
    await mirrorOn(mirror.database).keepViewSettings(
      { reportTimezone: 'UTC', budget: { perDay: 5000, reserved: 250 } },
      clock.now(),
    );
    const [inbox = ''] = mirror.sandbox.world.inboxes.keys();
    const figures = { '/': 4, '/people': 4, [`/inboxes/${inbox}`]: 6 };
    for (const [path, sections] of Object.entries(figures)) {
      const body = await counted(ask, path);
      const [some, all] = path.startsWith('/inboxes') ? [2, 3] : [5, 7];
      expect(body).toContain(`The first copy is not complete: ${some} of ${all} lists.`);
      expect(body.split(`so far: ${some} of ${all} lists`), path).toHaveLength(1 + sections);
      expect(body).not.toMatch(/Well done|No person has|Every conversation|No conversation/);
    }
    expect((await visit(ask, '/ask?sql=SELECT+1')).body).toMatch(/so far: 5 of 7 lists/);
    await sync();
    // The charts were counted a moment ago, and are counted again.
    clock.advance(2000);
    for (const path of Object.keys(figures)) expect(await counted(ask, path)).not.toContain('so far');
  },
);

test('the chart of the backlog counts by FINAL_STATUSES and WAITING_STATUSES, as the totals do', async () => {
  const { ask, sync, clock, mirror } = await served({ sandbox: { inboxes: 1, conversations: [3] } });
  const { world } = mirror.sandbox;
  const { id, conversations } = firstInbox(mirror.sandbox);
  for (const [nth, status] of ['Open', 'On hold', 'resolved'].entries())
    world.setStatus(id, conversations.order[nth]!, status);
  await sync();
  await mirrorOn(mirror.database).keepViewSettings(
    {
      reportTimezone: 'UTC',
      budget: { perDay: 5000, reserved: 250 },
      statuses: { final: ['resolved'], waiting: ['on hold'] },
    },
    clock.now(),
  );
  for (const path of ['/', `/inboxes/${id}`]) {
    const table = /Day<.*?Open<.*?Pending<.*?<tbody>(.*?)<\/tbody>/.exec(await counted(ask, path))?.[1];
    // One conversation is open and one is pending on every day.
    expect(new Set(table?.match(/(?<=<td class="n">)\d+/g)), path).toEqual(new Set(['1']));
  }
});

test('the last day of the backlog chart is the backlog of now, also minutes after it was counted', async () => {
  const { ask, sync, clock, mirror } = await served({ sandbox: { inboxes: 1, conversations: [3] } });
  const { id, conversations } = firstInbox(mirror.sandbox);
  for (const item of conversations.order) mirror.sandbox.world.setStatus(id, item, 'closed');
  await sync();
  await mirrorOn(mirror.database).keepViewSettings(
    { reportTimezone: 'UTC', budget: { perDay: 5000, reserved: 250 } },
    clock.now(),
  );
  for (const path of ['/', `/inboxes/${id}`]) await counted(ask, path);
  await mirror.database.execute(`UPDATE conversations SET status = 'open'`);
  clock.advance(30_000);
  for (const path of ['/', `/inboxes/${id}`]) {
    const today = /Day<.*?Open<.*?Pending<.*?<tbody>.*?<td class="n">(\d+)/.exec(await counted(ask, path));
    expect(today?.[1], path).toBe('3');
  }
});

test('the backlog of an inbox that was gone breaks there, and every day keeps its place', async () => {
  const { ask, sync, clock, mirror } = await served({ sandbox: { conversations: [3, 3] } });
  const { id } = nthInbox(mirror.sandbox, 1);
  const syncDaily = async (many: number): Promise<void> => {
    for (let day = 0; day < many; day++) {
      clock.advance(DAY);
      await sync({ acceptDeletes: true });
    }
  };
  await sync();
  await syncDaily(2);
  mirror.sandbox.world.removeInbox(id);
  await syncDaily(11);
  mirror.sandbox.world.restoreInbox(id);
  await syncDaily(2);
  const days = `SELECT DISTINCT day FROM backlog_daily WHERE inbox_id = '${id}'`;
  expect(await askView(mirror, days)).toHaveLength(6);
  const page = await counted(ask, `/inboxes/${id}`);
  const [chart = ''] = /aria-label="Backlog over 90 days.*?<\/svg>/.exec(page) ?? [];
  const columns = [...chart.matchAll(/<rect x="(-?[\d.]+)"[^>]*> ?<title>(\d+) Mar/g)];
  const [[, first] = [], [, second] = []] = columns;
  const place = (x = ''): number =>
    Math.round((Number(x) - Number(first)) / (Number(second) - Number(first)));
  const places = columns.map(([, x, day]) => `${day}: ${place(x)}`);
  expect(places.join()).toBe('2: 0,3: 1,4: 2,5: 3,16: 14,17: 15');
  const [, area = ''] = /class="area series-open" d="([^"]*)"/.exec(chart) ?? [];
  expect(area.match(/M/g), 'two areas').toHaveLength(2);
});

test('the chart of new and closed ones agrees with the backlog: none counts that came closed', async () => {
  const { ask, sync, mirror } = await served({ sandbox: { inboxes: 1, conversations: [3] } });
  const { id, conversations } = firstInbox(mirror.sandbox);
  const { world } = mirror.sandbox;
  for (const item of conversations.order) world.setStatus(id, item, 'closed');
  await sync();
  for (const status of ['open', 'pending', 'closed', 'closed', 'closed'])
    world.addConversation(id, { status });
  await sync();
  const flow = `SELECT appeared, came_open, closed FROM flow_daily`;
  expect(await askView(mirror, flow)).toEqual([{ appeared: 5, came_open: 2, closed: 0 }]);
  for (const path of ['/', `/inboxes/${id}`]) {
    const body = await counted(ask, path);
    const today = /Came open or reopened<\/th>.*?<tbody>.*?<td class="n">(\d+)<.*?<td class="n">(\d+)</.exec(
      body,
    );
    expect(today?.slice(1), path).toEqual(['2', '0']);
    expect(body).toContain('A conversation that was closed when first seen counts in neither.');
  }
});

test('pages say which conversations still count although the service lacks them', async () => {
  const { ask, sync, mirror, clock, status } = await served({ sandbox: { conversations: [100, 5] } });
  const inbox = firstInbox(mirror.sandbox);
  const paths = ['/', `/inboxes/${inbox.id}`, '/ask', '/people'];
  await sync();
  for (const path of paths)
    expect((await visit(ask, path)).body, path).not.toContain('missing at the service');
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 30));
  await sync();
  clock.advance(HOUR);
  await sync();
  clock.advance(HOUR);
  const { judged } = await status();
  expect(judged.filter(({ held }) => held > 0)).toMatchObject([{ inboxId: inbox.id, held: 30 }]);
  for (const path of paths)
    expect((await visit(ask, path)).body, path).toMatch(
      /class="verdict late">\s*30 conversations are missing at the service and still count, until a person confirms that they are gone\. The\s*<a href="\/engine">engine room<\/a>/,
    );
  const other = nthInbox(mirror.sandbox, 1).id;
  expect((await visit(ask, `/inboxes/${other}`)).body).not.toContain('missing at the service');
});
