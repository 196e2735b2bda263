import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/core/clock.ts';
import { iso } from '../../../src/database/instants.ts';
import { mirrorFile, testProgram } from '../../support/program.ts';
import { renderOnTerminal } from '../../support/terminal.ts';

test('plan names the pages to read next, the cost of the schedule and what other budgets would bring', async () => {
  const program = await testProgram({ inboxes: 2, conversations: [250, 40] });
  await program.run('sync');
  const { exitCode, stdout } = await program.run('plan');
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /^A daemon would read \d+ pages in the next hour\. These are the first 15; page 1 holds the newest conversations\./,
  );
  expect(stdout).toMatch(/Support +1 of 3 .* changes$/m);
  expect(stdout).toMatch(/pages +4 pages with 290 conversations in all; \d+\.\d % of them/);
  expect(stdout).toMatch(/pace +\d+ requests an hour, one in about 1\d s$/m);
  expect(stdout).toMatch(/schedule +one reading of every page costs 4 requests, once a day/);
  expect(stdout).toMatch(
    /budget +a change probably waits, .* with half of this budget, .* with this budget, .* with 4 times as much/,
  );
  expect(stdout).toMatch(/spent +requests of the last 24 h: whole lists \d.*, by command \d+/);
  const json = JSON.parse((await program.run('plan', '--json')).stdout) as Record<string, unknown>;
  expect(json).toMatchObject({
    reads_pages: true,
    pages: 4,
    rows: 290,
    cover: { requests: 4, days: 1, readings_per_day: 1 },
  });
  expect(json['next']).toHaveLength(Math.round(Number(json['requests_next_hour'])));
  expect(stdout).toMatch(/^daemon +none runs: nothing of this is read until `npx inbox-mirror start`$/m);
  expect(json['daemon_runs']).toBe(false);
});

test('plan keeps its table in columns on a narrow terminal', async () => {
  const program = await testProgram({ inboxes: 2, conversations: [250, 40] });
  await program.run('sync');
  const lines = (await renderOnTerminal(program, 60, 'plan')).split('\n');
  const titles = lines.findIndex((line) => line.startsWith('in '));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  for (const line of lines.slice(titles + 1, titles + 10))
    expect(line).toMatch(/^( {4}(changes|schedule|why)|\S.* +\d of \d +.* \d\.\d\d(  changes)?)$/);
});

test('plan counts what all schedules cost, also where no page is read singly', async () => {
  for (const mode of ['auto', 'off']) {
    const program = await testProgram({ inboxes: 2, conversations: [250, 40] }, { READ_PAGES: mode });
    await program.run('sync');
    // 24 readings of inboxes, 4 of users and tags of two inboxes, and 4 pages.
    const sum = 24 + 8 + 8 + (mode === 'auto' ? 4 : 4 * 96);
    const cost = `${sum} requests a day of the 4,750 that scheduled work may use: inboxes 24, users 8, tags 8, `;
    const text = (await program.run('plan')).stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain(` cost the schedules need ${cost}conversations ${sum - 40} `);
    const json = JSON.parse((await program.run('plan', '--json')).stdout) as { schedules: unknown[] };
    expect(json.schedules[1]).toEqual({
      list: 'users',
      lists: 2,
      requests_per_run: 2,
      requests_per_day: 8,
    });
  }
});

test("plan takes the day's budget from the mirror if its own environment sets none", async () => {
  const program = await testProgram({ inboxes: 1, conversations: 5 }, { REQUESTS_PER_DAY: '100000' });
  await program.run('sync');
  delete program.env['REQUESTS_PER_DAY'];
  const text = (await program.run('plan')).stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain(' requests a day of the 99,750 that scheduled work may use: ');
});

test('plan plans no single page once READ_PAGES is off, also if pages were read before', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 250 });
  await program.run('sync');
  program.env['READ_PAGES'] = 'off';
  const { stdout } = await program.run('plan');
  expect(stdout).toMatch(/^pages +none$/m);
  expect(stdout).not.toMatch(/a change probably waits|one reading of every page/);
  const json = JSON.parse((await program.run('plan', '--json')).stdout) as Record<string, unknown>;
  expect(json).toMatchObject({ reads_pages: false, pages: 0, next: [] });
});

test('plan says until when no page is read because the budget of the day is spent', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 250 });
  await program.run('sync');
  const database = new Sqlite(mirrorFile(program));
  const insert = database.prepare(
    `INSERT INTO requests (sent_at, method, path, list, reason, status) VALUES (?, 'GET', '/', 'conversations', 'page', 200)`,
  );
  database.transaction(() => {
    for (let nth = 0; nth < 4750; nth += 1) insert.run(iso(new Date(Date.now() - 60 * MINUTE)));
  })();
  database.close();
  const text = (await program.run('plan')).stdout.replaceAll(/\s+/g, ' ');
  expect(text).toMatch(
    /^No page is read in the next hour: the day's budget is spent until (tomorrow )?\d\d:\d\d UTC, in 2[23] h/,
  );
});

test('plan counts all pages of the hour, also where it looks no further than a thousand', async () => {
  const program = await testProgram(
    { inboxes: 1, conversations: 250 },
    { REQUESTS_PER_DAY: '100000', REQUESTS_PER_SECOND: '20' },
  );
  await program.run('sync');
  expect((await program.run('plan')).stdout).toMatch(
    /read 4,1\d\d pages in the next hour\. These are the first 15/,
  );
});

test('plan counts every slot of a schedule of one’s own', async () => {
  const program = await testProgram(
    { inboxes: 1, conversations: 250 },
    { SCHEDULE_CONVERSATIONS: '0 */4 * * *', REQUESTS_PER_DAY: '300' },
  );
  await program.run('sync');
  const { stdout } = await program.run('plan');
  expect(stdout).toMatch(/schedule +one reading of every page costs 3 requests, 6 times a day/);
});

test('plan plans no reading while the gate is shut', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 250 });
  await program.run('sync');
  const shut = (changes: string, ...values: string[]): void => {
    const database = new Sqlite(mirrorFile(program));
    database.prepare(`INSERT OR IGNORE INTO gate_state (id) VALUES (1)`).run();
    database.prepare(`UPDATE gate_state SET ${changes}`).run(...values);
    database.close();
  };
  const next = async (): Promise<string[]> => {
    const { stdout } = await program.run('plan', '--json');
    return (JSON.parse(stdout) as { next: { at: string }[] }).next.map(({ at }) => at);
  };
  const usual = await next();
  const ends = new Date(Date.now() + 30 * MINUTE);
  shut('strikes = 1, paused_at = ?, paused_until = ?', iso(new Date()), iso(ends));
  const later = await next();
  expect(later.length).toBeGreaterThan(0);
  expect(later.length).toBeLessThan(0.6 * usual.length);
  for (const at of later) expect(Date.parse(at)).toBeGreaterThan(ends.getTime());
  const pausedText = (await program.run('plan')).stdout;
  expect(pausedText).toMatch(
    /^requests +stopped until [\s\S]*, in (30 min|29 min \d+ s),[\s\S]*: nothing\s+is read before that$/m,
  );
  shut(
    `paused_until = NULL, outage_since = ?, outage_until = ?, outage_cause = 'ECONNREFUSED'`,
    iso(new Date()),
    iso(ends),
  );
  expect((await program.run('plan')).stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /requests stopped until .*, because the service is out of reach \(ECONNREFUSED\): nothing is read before that/,
  );
  shut(
    `outage_since = NULL, outage_until = NULL, account_since = ?, account_until = ?,
     account_cause = 'another one', account_access = 'x'`,
    iso(new Date()),
    iso(ends),
  );
  for (const at of await next()) expect(Date.parse(at)).toBeGreaterThan(ends.getTime());
  expect((await program.run('plan')).stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /requests stopped until .*, because the key leads to another account \(another one\): nothing is read/,
  );
  shut(`refused_key = 'fingerprint'`);
  expect(await next()).toEqual([]);
  const { stdout } = await program.run('plan');
  expect(stdout).toMatch(/^No page is read in the next hour\.\n/);
  expect(stdout).toMatch(/^requests +stopped until another key is set/m);
});

test('plan says why nothing can be read singly', async () => {
  const off = await testProgram({ inboxes: 1, conversations: 20 }, { READ_PAGES: 'off' });
  await off.run('sync');
  expect((await off.run('plan')).stdout).toMatch(/READ_PAGES=off: only whole lists are read/);
  const fresh = await testProgram({ inboxes: 1, conversations: 20 });
  await fresh.run('sync', 'inboxes');
  expect((await fresh.run('plan')).stdout).toMatch(/No page can be read singly yet: a first complete sweep/);
  const mixed = await testProgram({ inboxes: 1, conversations: 20, listOrder: 'mixed' });
  await mixed.run('sync');
  const { stdout } = await mixed.run('plan');
  expect(stdout).toMatch(/^No page can be read singly now: the lines that begin with "whole" say why\.\n/);
  expect(stdout).toMatch(/whole +Support \(20117\), since .*: its ids are in no order/);
  expect(stdout).toMatch(
    /again +the first of them in 1[45] min.*; each of them every 15 min if the pace allows and all were read since their slot, and less often after a failed walk/,
  );
});

test('READ_PAGES that is neither auto nor off is refused', async () => {
  const program = await testProgram({ inboxes: 1 }, { READ_PAGES: 'yes' });
  const { exitCode, stderr } = await program.run('plan');
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/READ_PAGES.*auto or off/);
});
