import { hostname } from 'node:os';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { sparkline } from '../../../src/cli/output/sparkline.ts';
import { DAEMON_COMMAND } from '../../../src/session/lease/live-daemon.ts';
import { mirrorFile, type TestProgram, testProgram } from '../../support/program.ts';
import { renderOnTerminal } from '../../support/terminal.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function ago(ms: number): string {
  return new Date(Date.now() - ms).toISOString().replace('Z', '+00:00');
}

/** Writes to the mirror beside the program. */
function write(program: TestProgram, work: (database: SqliteDatabase.Database) => void): void {
  const database = new SqliteDatabase(mirrorFile(program));
  work(database);
  database.close();
}

/** Makes the ledger hold so many requests of a list and a reason, sent some time ago. */
function spend(program: TestProgram, requests: number, list: string, reason: string, agoMs: number): void {
  write(program, (database) => {
    const insert = database.prepare(
      `INSERT INTO requests (sent_at, method, path, list, reason, status) VALUES (?, 'GET', '/', ?, ?, 200)`,
    );
    for (let nth = 0; nth < requests; nth += 1) insert.run(ago(agoMs), list, reason);
  });
}

/** Records changes of one conversation each, which were seen some time ago and lay in a window before that. */
function change(program: TestProgram, windows: readonly number[], agoMs: number): void {
  write(program, (database) => {
    const insert = database.prepare(
      `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, sweep_id)
       VALUES (?, ?, 'conversations', '20117', ?, 'status', 1)`,
    );
    const seen = Date.now() - agoMs;
    const at = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00');
    for (const [nth, window] of windows.entries())
      insert.run(at(seen), at(seen - window), String(1000 + nth));
  });
}

/** Writes the lease and the schedules that a daemon running beside the test would keep. */
function playDaemon(program: TestProgram): void {
  write(program, (database) => {
    database
      .prepare(
        `INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at)
         VALUES ('writer', 'h', ?, ?, ?, ?, ?, ?)`,
      )
      .run(hostname(), process.ppid, DAEMON_COMMAND, ago(HOUR), ago(0), ago(-25_000));
    database.exec('DELETE FROM schedules');
    database
      .prepare(
        `INSERT INTO schedules (list, expression, timezone, next_at) VALUES ('inboxes', '0 * * * *', 'UTC', ?)`,
      )
      .run(ago(-20 * MINUTE));
  });
}

interface Shown {
  readonly lists: readonly { promise_seconds: number }[];
  readonly budget: { sent: number };
  readonly spent: Record<string, unknown> & { by_hour: number[] };
  readonly measured_delay: Record<string, unknown> & { median_seconds_by_hour: (number | null)[] };
  readonly pages: Record<string, unknown> & { current_share: number };
  readonly next_reading: Record<string, unknown> | null;
}

async function asJson(program: TestProgram): Promise<Shown> {
  return JSON.parse((await program.run('status', '--json')).stdout) as Shown;
}

/** Sets TERM until the end of the test. */
function onTerminalOfType(type: string): void {
  const before = process.env['TERM'];
  process.env['TERM'] = type;
  onTestFinished(() => {
    if (before === undefined) delete process.env['TERM'];
    else process.env['TERM'] = before;
  });
}

describe('status', () => {
  test('tells requests of whole lists, single pages, lookups and commands apart, and counts them by hour', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    const { budget: before } = await asJson(program);
    spend(program, 3, 'users', 'schedule', 90 * MINUTE);
    spend(program, 6, 'conversations', 'page', 90 * MINUTE);
    spend(program, 2, 'conversations', 'probe', 20.5 * HOUR);
    spend(program, 1, 'conversations', 'resync', 23.9 * HOUR);
    spend(program, 9, 'conversations', 'page', 25 * HOUR);
    const { budget, spent } = await asJson(program);
    const { by_hour: byHour, ...kinds } = spent;
    expect(kinds).toEqual({ whole_lists: 3, single_pages: 6, lookups: 2, commands: before.sent + 1 });
    expect(byHour).toHaveLength(24);
    expect([byHour[0], byHour[3], byHour[22], byHour[23]]).toEqual([1, 2, 9, before.sent]);
    expect(byHour.reduce((a, b) => a + b)).toBe(budget.sent);
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(
      /^spent {4}whole lists 3, single pages 6, questions about rows 2, by command \d+$/m,
    );
  });

  test("shows a reader the day's budget of the process that sends, as far as no variable of its own sets it", async () => {
    const program = await testProgram(
      { inboxes: 1, conversations: 5 },
      { REQUESTS_PER_DAY: '100000', REQUESTS_RESERVED: '1000' },
    );
    await program.run('sync');
    playDaemon(program);
    delete program.env['REQUESTS_PER_DAY'];
    delete program.env['REQUESTS_RESERVED'];
    spend(program, 6000, 'conversations', 'page', HOUR);
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(/ 6,00\d of 100,000 requests used; next reading (now|in )/);
    expect(stdout).toMatch(/^budget .* 93,99\d left \(1,000 kept for manual commands\)$/m);
    expect(stdout).toMatch(/^requests flowing$/m);
    const limits = async (env: Record<string, string>): Promise<object> => {
      Object.assign(program.env, { REQUESTS_PER_DAY: '', REQUESTS_RESERVED: '', ...env });
      return (await asJson(program)).budget;
    };
    expect(await limits({ REQUESTS_RESERVED: '10' })).toMatchObject({ limit: 100_000, reserved: 10 });
    expect(await limits({ REQUESTS_PER_DAY: '20000' })).toMatchObject({ limit: 20_000, reserved: 1000 });
    // A reserve that the reader's own day could not hold is not taken.
    expect(await limits({ REQUESTS_PER_DAY: '600' })).toMatchObject({ limit: 600, reserved: 250 });
    write(program, (database) => database.exec(`DELETE FROM settings WHERE name LIKE 'requests%'`));
    expect(await limits({})).toMatchObject({ limit: 5000, reserved: 250 });
  });

  test('judges by the schedules of the process that sends, as far as no variable of its own sets them', async () => {
    const own = {
      SCHEDULE_INBOXES: '0 3 * * *',
      SCHEDULE_USERS: '*/30 * * * *',
      SCHEDULE_CONVERSATIONS: '30 1 * * 1',
      SCHEDULE_TIMEZONE: 'Asia/Kolkata',
    };
    const program = await testProgram({ inboxes: 1, conversations: 5 }, own);
    await program.run('sync');
    const seen = async (): Promise<unknown> => {
      const { lists } = await asJson(program);
      const slots: unknown[] = [];
      write(program, (database) => {
        slots.push(...database.prepare('SELECT * FROM schedule_slots ORDER BY list, starts_at').all());
      });
      const { stdout } = await program.run('plan');
      const table = stdout.split('\n').filter((line) => /^(inboxes|users|tags|conversations) /.test(line));
      return { promises: lists.map(({ promise_seconds: seconds }) => seconds), slots, table };
    };
    const before = await seen();
    for (const name of Object.keys(own)) delete program.env[name];
    expect(await seen()).toEqual(before);
    program.env['SCHEDULE_USERS'] = '0 12 * * *';
    expect(await seen()).not.toEqual(before);
  });

  test('says when lists without bookmarks are read whole again, which is long before their slot', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 20, listOrder: 'mixed' });
    await program.run('sync');
    playDaemon(program);
    const before = (await program.run('status')).stdout;
    expect(before).toMatch(/; next reading in (15 min|14 min \d+ s)\.$/m);
    expect(before).toMatch(/^next {5}a whole list in (15 min|14 min \d+ s); by schedule inboxes in /m);
    write(program, (database) => {
      database
        .prepare(`UPDATE sweeps SET finished_at = ? WHERE list = 'conversations'`)
        .run(ago(16 * MINUTE));
    });
    expect((await program.run('status')).stdout).toMatch(/^next {5}a whole list now; by schedule inboxes /m);
  });

  test('tells the view `freshness` the schedules, unless a daemon does', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    const states = (): unknown => {
      let found: unknown;
      write(program, (database) => {
        found = database.prepare('SELECT DISTINCT state FROM freshness').pluck().all();
        database.exec(`DELETE FROM schedule_slots; DELETE FROM settings WHERE name = 'schedule_slots'`);
      });
      return found;
    };
    expect(states()).toEqual(['fresh']);
    await program.run('status');
    expect(states()).toEqual(['fresh']);
    playDaemon(program);
    await program.run('status');
    expect(states()).toEqual(['unknown']);
  });

  test('has the median delay of each hour, and null for an hour in which no change was seen', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    change(program, [10_000, 20_000, 90_000], 90 * MINUTE);
    change(program, [600_000], 5.5 * HOUR);
    const { measured_delay: delay } = await asJson(program);
    expect(delay).toMatchObject({ changes: 4, median_seconds: 20, p95_seconds: 600 });
    const known = delay.median_seconds_by_hour.flatMap((median, hour) =>
      median === null ? [] : [[hour, median]],
    );
    expect(known).toEqual([
      [18, 600],
      [22, 20],
    ]);
    expect(delay.median_seconds_by_hour).toHaveLength(24);
    const few = /4 changes in the last 24 h: too few changes yet to tell how late they are seen$/m;
    expect((await program.run('status')).stdout).toMatch(few);
    expect((await program.run('plan')).stdout).toMatch(few);
    change(program, Array<number>(6).fill(20_000), HOUR);
    const enough = /10 changes in the last 24 h: half were seen within 20 s, 95 % within 10 min$/m;
    expect((await program.run('status')).stdout).toMatch(enough);
    expect((await program.run('plan')).stdout).toMatch(enough);
  });

  test('draws the hours under their line on a terminal, aligned, and neither in a pipe nor on a dumb one', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    spend(program, 40, 'conversations', 'page', 90 * MINUTE);
    change(program, Array<number>(10).fill(60_000), 5.5 * HOUR);
    onTerminalOfType('xterm');
    const shown = await renderOnTerminal(program, 80, 'status');
    const bars = shown
      .split('\n')
      .flatMap((line) => /^ {9}([▁-█·]{24}) {2}(.*)$/u.exec(line)?.slice(1) ?? []);
    expect(bars).toEqual([
      `${'·'.repeat(22)}█▁`,
      'requests by the hour, at most 40',
      `${'·'.repeat(18)}█${'·'.repeat(5)}`,
      'median by the hour, at most 1 min',
    ]);
    expect((await program.run('status')).stdout).not.toMatch(/[▁-█·]|by the hour/u);
    onTerminalOfType('dumb');
    expect(await renderOnTerminal(program, 80, 'status')).not.toMatch(/[▁-█·]|by the hour/u);
  });

  test('shows the same share of current rows as `plan`', async () => {
    const program = await testProgram({ inboxes: 2, conversations: [250, 40] });
    await program.run('sync');
    const { pages } = await asJson(program);
    const plan = JSON.parse((await program.run('plan', '--json')).stdout) as typeof pages;
    expect(pages).toMatchObject({
      pages: 4,
      rows: 290,
      cover_days: 1,
      oldest_reading: plan['oldest_reading'],
    });
    expect(pages.current_share).toBeLessThan(1);
    expect(pages.current_share).toBeCloseTo(plan.current_share, 3);
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(
      /^pages {4}4 pages with 290 conversations in all; \d+\.\d % of them are probably/m,
    );
    program.env['READ_PAGES'] = 'off';
    expect(await asJson(program)).toMatchObject({ pages: null, next_reading: null });
    expect((await program.run('status')).stdout).not.toMatch(/^pages/m);
  });

  test('names the page that a daemon reads next, and none before a shut gate opens', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 250 });
    await program.run('sync');
    expect((await asJson(program)).next_reading).toBeNull();
    playDaemon(program);
    expect((await asJson(program)).next_reading).toMatchObject({
      inbox_id: '20117',
      page: 1,
      pages: 3,
      why: 'value',
    });
    expect((await program.run('status')).stdout).toMatch(
      /^next {5}page 1 of 3 of Support \(20117\) in \d+ s; by schedule inboxes in (20 min|19 min \d+ s)$/m,
    );
    write(program, (database) =>
      database
        .prepare(
          `INSERT INTO gate_state (id, strikes, paused_at, paused_until) VALUES (1, 1, ?, ?)
           ON CONFLICT (id) DO UPDATE SET strikes = 1, paused_at = excluded.paused_at, paused_until = excluded.paused_until`,
        )
        .run(ago(MINUTE), ago(-30 * MINUTE)),
    );
    expect((await asJson(program)).next_reading).toBeNull();
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(/; next reading in (30 min|29 min \d+ s)\.$/m);
    expect(stdout).toMatch(
      /^requests stopped until .*, in (30 min|29 min \d+ s), after 1 answer of HTTP 429 \(429\)$/m,
    );
    expect(stdout).toMatch(/^next {5}inboxes in (30 min|29 min \d+ s)$/m);
  });
});

const STALE =
  `UPDATE sweeps SET finished_at = '2020-01-01T00:00:00.000+00:00' ` +
  `WHERE list = 'tags' AND inbox_id = '20117'`;

describe('status begins', () => {
  test('with one sentence, and lists only what needs a look; --all lists everything', async () => {
    const program = await testProgram({ inboxes: 2, conversations: 5 });
    await program.run('sync');
    const fresh = (await program.run('status')).stdout.split('\n');
    expect(fresh[0]).toMatch(/^7 lists, all fresh; 7 of 5,000 requests used; no daemon is running\.$/);
    expect(fresh.slice(1, 3)).toEqual(['', 'lists    7 fresh lists are not shown; --all shows every list']);
    write(program, (database) => database.exec(STALE));
    playDaemon(program);
    const stale = (await program.run('status')).stdout;
    expect(stale).toMatch(/^1 of 7 lists needs a look; 7 of 5,000 requests used; next reading in [^;]+\.\n/);
    expect(stale).toMatch(/\nSupport \(20117\) {2}tags .* stale/);
    expect(stale).not.toMatch(/conversations .* fresh/);
    expect((await program.run('status', '--all')).stdout.match(/ {2}fresh$/gm)).toHaveLength(6);
  });

  test('with how far the first copy is, as long as lists have only not been read yet', async () => {
    const program = await testProgram({ inboxes: 2, conversations: 5 });
    await program.run('sync', 'inboxes', 'users');
    expect((await program.run('status')).stdout).toMatch(/^4 of 7 lists need a look; /);
    playDaemon(program);
    expect((await program.run('status')).stdout).toMatch(/^first copy at 3 of 7 lists; /);
  });

  test('with a row that was not listed for days, because nothing decides on it', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    const miss = (ms: number): void =>
      write(program, (database) => {
        const one = 'id = (SELECT min(id) FROM conversations)';
        database.prepare(`UPDATE conversations SET missing_since = ? WHERE ${one}`).run(ago(ms));
      });
    miss(HOUR);
    expect((await program.run('status')).stdout).toMatch(/^4 lists, all fresh; /);
    miss(5 * 24 * HOUR);
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(/^1 of 4 lists needs a look; /);
    expect(stdout).toMatch(/conversations .* fresh, 1 not listed for up to 5 d\n/);
  });

  test('without a row that its list leaves out: only --all and --json count it', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    write(program, (database) => {
      database.exec(
        `INSERT INTO unlisted (list, inbox_id, item_id, since, returned_at)
         SELECT 'conversations', inbox_id, id, first_seen_at, first_seen_at FROM conversations LIMIT 2`,
      );
    });
    expect((await program.run('status')).stdout).toMatch(/^4 lists, all fresh; /);
    const { stdout } = await program.run('status', '--all');
    expect(stdout).toMatch(/conversations .* fresh, 2 left out by the list\n/);
    const { lists } = JSON.parse((await program.run('status', '--json')).stdout) as { lists: unknown[] };
    expect(lists).toContainEqual(expect.objectContaining({ list: 'conversations', unlisted: 2 }));
  });

  test('with a list that is empty although the service returns its rows', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 30 });
    await program.run('sync');
    const [inbox = ''] = program.sandbox.world.inboxes.keys();
    program.sandbox.faults.set(`/inboxes/${inbox}/conversations`, 'empty');
    await program.run('sync');
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(/conversations .* 0 {2}fresh, 30 left out by the list\n/);
  });

  test('with a list of which no single page can be read', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    write(program, (database) => {
      const asked = database.prepare(
        `INSERT INTO requests (sent_at, method, path, list, inbox_id, reason, status, error)
         SELECT $at, 'GET', '/', 'conversations', id, 'page', 500, 'HTTP 500: no index' FROM inboxes`,
      );
      for (const ms of [3 * HOUR, HOUR]) asked.run({ at: ago(ms) });
    });
    const { exitCode, stdout } = await program.run('status');
    expect(exitCode).toBe(5);
    expect(stdout).toMatch(
      /conversations .* fresh; no page could be read for 3 h \(2 requests failed\): HTTP 500: no index/,
    );
    const { lists } = JSON.parse((await program.run('status', '--json')).stdout) as { lists: unknown[] };
    const since = expect.stringMatching(/T.*Z$/) as unknown;
    expect(lists).toContainEqual(expect.objectContaining({ failing_pages_since: since }));
  });

  test('with the walks of a list that have failed in a row, their cost and the next try', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    write(program, (database) => {
      database.prepare(`UPDATE sweeps SET finished_at = ?`).run(ago(2 * HOUR));
      const failed = database.prepare(
        `INSERT INTO sweeps (list, inbox_id, reason, state, requests, started_at, heartbeat_at, finished_at, error)
         SELECT list, inbox_id, 'schedule', 'failed', 399, $at, $at, $at, 'The list has no end.' FROM sweeps WHERE list = 'users' LIMIT 1`,
      );
      for (const ms of [HOUR, MINUTE]) failed.run({ at: ago(ms) });
    });
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(
      /users .* last sweep failed: The list has no end; failed 2 times in a row \(800 requests\); a daemon tries again in 8 h/,
    );
    const { lists } = JSON.parse((await program.run('status', '--json')).stdout) as {
      lists: Record<string, unknown>[];
    };
    const users = lists.find(({ list }) => list === 'users');
    expect(users).toMatchObject({ failed_walks: 2, failed_requests: 800 });
    expect(Date.parse(String(users!['rests_until'])) - Date.now()).toBeGreaterThan(7 * HOUR);
  });

  test('with the words of the service that stopped a sweep', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    const body = JSON.stringify({ Message: 'Maintenance \u001b[2Juntil noon' });
    program.sandbox.script(() => ({ status: 503, headers: { 'retry-after': '3600' }, body }));
    await program.run('sync');
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(
      / {2}inboxes .* fresh, sweep interrupted after 0 pages, started [^,:]+: GET \/inboxes failed: HTTP 503: Maintenance .*until noon\./,
    );
    expect(stdout).not.toContain('\u001b');
  });

  test('with how often a refused page token made a sweep begin again', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 250 });
    await program.run('sync');
    let refused = 0;
    program.sandbox.script(({ path }) => {
      if (!path.includes('next_page=')) return undefined;
      refused += 1;
      return refused <= 2
        ? { status: 400, body: '{"errors":[{"message":"invalid next_page"}]}' }
        : { status: 503, headers: { 'retry-after': '3600' }, body: '' };
    });
    await program.run('sync');
    const { stdout } = await program.run('status');
    expect(stdout).toMatch(
      /sweep interrupted after 1 page, begun again 2 times because its page tokens expire, /,
    );
    const { lists } = JSON.parse((await program.run('status', '--json')).stdout) as {
      lists: { list: string; sweep: unknown }[];
    };
    const conversations = lists.find(({ list }) => list === 'conversations');
    expect(conversations!.sweep).toMatchObject({ pages: 1, restarts: 2 });
  });

  test('with what is wrong besides the lists', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    write(program, (database) =>
      database
        .prepare(
          `INSERT INTO gate_state (id, strikes, paused_at, paused_until) VALUES (1, 1, ?, ?)
           ON CONFLICT (id) DO UPDATE SET strikes = 1, paused_at = excluded.paused_at, paused_until = excluded.paused_until`,
        )
        .run(ago(MINUTE), ago(-10 * MINUTE)),
    );
    expect((await program.run('status')).stdout).toMatch(
      /^4 lists, all fresh; requests are stopped after 1 answer of HTTP 429; /,
    );
  });

  test('--watch draws it again until Ctrl-C, and refuses a pipe and JSON', async () => {
    const program = await testProgram({ inboxes: 1, conversations: 5 });
    await program.run('sync');
    for (const more of [[], ['--json']]) {
      const { exitCode, stderr } = await program.run('status', '--watch', ...more);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining('on a terminal only')]);
    }
    const stop = new AbortController();
    let drawn = '';
    const stdout = {
      write(text: string) {
        drawn += text;
        if (drawn === text) write(program, (database) => database.exec(STALE));
        if (drawn.includes('needs a look')) stop.abort();
      },
      isTTY: true,
      columns: 80,
    };
    const io = { env: program.env, cwd: program.folder, stdout, stderr: stdout, signal: stop.signal };
    expect(await runProgram(['status', '--watch'], io, '0.0.0-test')).toBe(130);
    // Erases the lines of the first drawing.
    expect(drawn).toContain('\u001B[2K');
  });
});

test('a sparkline has the greatest value as a full block, and nothing as a dot', () => {
  expect(sparkline([null, 0, 1, 50, 51, 100])).toBe('··▁▄▅█');
  expect(sparkline([0, null])).toBe('··');
});
