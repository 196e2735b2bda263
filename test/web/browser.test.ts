import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { served, type Served } from '../daemon/http/served.ts';
import { findings, startBrowser, unreached } from '../support/browser.ts';
import { cronsOfAll } from '../support/crons.ts';
import { passSpec } from '../support/pass-spec.ts';
import { BAD_GATEWAY, listenBeforePages } from '../support/web-proxy.ts';

/** Every page, with its heading. `:inbox` and `:conversation` stand for the first ones of the mirror. */
const PAGES: readonly (readonly [path: string, heading: string])[] = [
  ['/', 'Overview'],
  ['/inboxes/:inbox', 'Bold'],
  ['/inboxes/:inbox/conversations/:conversation', 'Conversation'],
  ['/people', 'People and tags'],
  ['/feed', 'Changes'],
  ['/ask?sql=SELECT+inbox,+open,+pending+FROM+backlog_now', 'Ask'],
  ['/engine', 'Engine room'],
];

const PHONE = { width: 360, height: 800 };

const BUDGET = { perDay: 5000, reserved: 250 };

/** Names that have broken pages. */
const NAMES = ['<b>Bold</b> & "quoted"', 'فريق الدعم 🎧', 'x'.repeat(90), '👩🏽‍🚀 Crew', ''];

let browser: Browser | string = 'not started';

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  if (typeof browser !== 'string') await browser.close();
});

/**
 * Opens a page, and fails if the browser reports an error on it, such as a refused script.
 * @param options `fakeClock`: the test can let the time of the page's script pass
 */
async function opened(
  url: string,
  skip: (note: string) => void,
  { fakeClock = false, ...options }: BrowserContextOptions & { readonly fakeClock?: boolean } = {},
): Promise<Page> {
  if (typeof browser === 'string') {
    skip(browser);
    throw new Error('skipped');
  }
  const context = await browser.newContext({ colorScheme: 'light', ...options });
  if (fakeClock) await context.clock.install();
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  const answer = await page.goto(url, { waitUntil: 'load' });
  expect(answer?.status(), url).toBe(200);
  expect(errors, url).toEqual([]);
  return page;
}

/** Shows a page to its person or hides it, as another tab in front of it does. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}

/** A mirror with awkward names, whose history has been counted. */
async function awkward(inboxes = 5, pages = PAGES): Promise<Served & { readonly paths: [string, string][] }> {
  const each = Math.ceil(60 / inboxes);
  const all = await served({ sandbox: { conversations: Array.from({ length: inboxes }, () => each) } });
  await all.sync();
  const { database } = all.mirror;
  const ids = await database.query<{ id: string }>('SELECT id FROM inboxes ORDER BY id');
  for (const [index, { id }] of ids.entries())
    await database.execute(
      'UPDATE inboxes SET display_name = $1 WHERE id = $2',
      NAMES[index % NAMES.length],
      id,
    );
  await database.execute(`UPDATE inbox_users SET first_name = $1, last_name = $2`, 'ליאת <i>', 'كريم 🌍');
  await database.execute(`UPDATE inbox_tags SET name = $1`, '<script>alert(1)</script> 🏷️');
  await mirrorOn(database).keepViewSettings({ reportTimezone: 'UTC', budget: BUDGET }, all.clock.now());
  const [{ conversation = '', inbox = '' } = {}] = await database.query<Record<string, string>>(
    'SELECT id AS conversation, inbox_id AS inbox FROM conversations ORDER BY inbox_id, id LIMIT 1',
  );
  const paths = pages.map(([path, heading]): [string, string] => [
    path.replace(':inbox', inbox).replace(':conversation', conversation),
    heading,
  ]);
  // A page that waits for the history loads itself again, under the hands of the test.
  for (const [path] of paths)
    await expect
      .poll(async () =>
        (await all.ask(path, { headers: { accept: 'text/html' } })).body.includes('http-equiv="refresh"'),
      )
      .toBe(false);
  return { ...all, paths };
}

/** Records a change of the first conversation's status to this value. */
async function recordChange({ mirror }: Pick<Served, 'mirror'>, value: string): Promise<void> {
  await mirror.database.execute(
    `INSERT INTO changes (observed_at, list, inbox_id, item_id, field, old_value, new_value)
     SELECT '2026-03-02T08:00:00.000+00:00', 'conversations', inbox_id, id, 'status', 'open', $1
     FROM conversations LIMIT 1`,
    value,
  );
}

/** The text of a page, without what changes with time. */
async function textOf(page: Page): Promise<string> {
  const text = await page.innerText('main');
  return text
    .replaceAll(/\d+ s ago|just now|New changes appear here by themselves\./g, '')
    .replaceAll(/\s+/g, ' ');
}

describe('in a browser', () => {
  test('each page fits 360 and 1,600 px, axe finds nothing, and Tab alone reaches all', async ({ skip }) => {
    const { url, paths } = await awkward();
    for (const [path, heading] of paths) {
      const page = await opened(url + path, skip);
      expect(await page.textContent('h1'), path).toContain(heading);
      for (const [width, colorScheme, rules] of [
        [360, 'light', []],
        // Colours are all that changes.
        [1600, 'dark', ['color-contrast']],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        expect(await findings(page, [...rules]), `${path} at ${width} px, ${colorScheme}`).toEqual([]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(wide, `${path} at ${width} px scrolls sideways`).toBeLessThanOrEqual(width);
      }
      expect(await unreached(page), path).toEqual([]);
      const plain = await opened(url + path, skip, { javaScriptEnabled: false });
      expect(await textOf(plain), `${path} without JavaScript`).toBe(await textOf(page));
      await Promise.all([page.context().close(), plain.context().close()]);
    }
  });

  test('100 inboxes, a stale list and an empty mirror each have a page', async ({ skip }) => {
    const { url, mirror, clock } = await awkward(100, PAGES.slice(0, 1));
    await mirror.writer.keepSlots(cronsOfAll('*/15 * * * *', { others: '0 0 1 1 *' }), clock.now());
    clock.advance(2000);
    const many = await opened(url, skip, { viewport: PHONE });
    expect(await many.locator('tbody tr').count()).toBeGreaterThanOrEqual(100);
    expect(await many.locator('.stamp.late').innerText()).toContain('in 100 of 100 inboxes');
    expect(await findings(many)).toEqual([]);
    await many.context().close();
    const { url: empty } = await served();
    const page = await opened(empty, skip);
    expect(await page.innerText('main')).toContain('The first copy');
    await page.context().close();
  });

  test('new changes come to the open page by themselves, and stay text', async ({ skip }) => {
    const { url, mirror, clock } = await awkward();
    const page = await opened(`${url}/feed?field=status`, skip);
    await page.getByText('New changes appear here by themselves.').waitFor();
    const [row] = await mirror.database.query<{ id: string; inbox_id: string }>(
      'SELECT id, inbox_id FROM conversations',
    );
    const insert = `INSERT INTO changes (observed_at, list, inbox_id, item_id, field, old_value, new_value)
      VALUES ('2026-03-02T08:00:00.000+00:00', 'conversations', $1, $2, $3, 'open', $4)`;
    await mirror.database.execute(insert, row!.inbox_id, row!.id, 'permalink', 'not asked for');
    await mirror.database.execute(insert, row!.inbox_id, row!.id, 'status', '<img src=x onerror=alert(1)>');
    clock.advance(2000);
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await page.locator('tbody img').count()).toBe(0);
    expect(await page.innerText('tbody')).not.toContain('not asked for');
    await page.context().close();
  });

  test('live pages in the background leave a browser its connections, and catch up when seen', async ({
    skip,
  }) => {
    const { url, mirror, clock } = await awkward();
    const first = await opened(`${url}/feed`, skip);
    const background = [first];
    // A browser opens at most six connections to a host.
    while (background.length < 6) background.push(await first.context().newPage());
    for (const page of background) {
      await page.goto(`${url}/feed`);
      await page.getByText('New changes appear here by themselves.').waitFor();
      await setHidden(page, true);
    }
    const page = await first.context().newPage();
    expect((await page.goto(`${url}/engine`, { timeout: 10_000 }))?.status()).toBe(200);
    for (const value of ['first <new> word', 'second <new> word']) {
      await recordChange({ mirror }, value);
      clock.advance(2000);
      expect(await first.getByText(value).count(), 'while it is hidden').toBe(0);
      await setHidden(first, false);
      await first.getByText(value).waitFor();
      await setHidden(first, true);
    }
    expect(await first.getByText('<new> word').count(), 'each change once').toBe(2);
    await first.context().close();
  });

  test('a page that follows an order shows its end, although a proxy has answered for the daemon', async ({
    skip,
  }) => {
    const { url, mirror, clock } = await served();
    const { id } = await mirrorOn(mirror.database).orders.place(passSpec(), clock.now());
    const proxy = await listenBeforePages(url);
    const path = `/engine/orders/${id}`;
    const page = await opened(proxy.url + path, skip, { fakeClock: true });
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    const reads = async (): Promise<void> => {
      const answered = page.waitForResponse(proxy.url + path, { timeout: 10_000 });
      await page.clock.fastForward(3000);
      await answered;
    };
    const fault = '<title>A fault</title><main id="main">The mirror does not answer</main>';
    for (const answer of [BAD_GATEWAY, { status: 200, body: 'Back soon' }, { status: 503, body: fault }]) {
      proxy.answerItself(answer);
      await reads();
      // The script has judged the first answer before it sends the second request.
      await reads();
      expect(await page.title()).toBe(`Order ${id} · inbox-mirror`);
      expect(await page.innerText('.facts')).toMatch(/State\s+waits/);
    }
    proxy.answerItself(null);
    await mirror.writer.passes.end(id, { state: 'done', error: null, report: {} }, clock.now());
    clock.advance(2000);
    await reads();
    await page.getByText('done', { exact: true }).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('live changes come again after a proxy has answered for the daemon, each of them once', async ({
    skip,
  }) => {
    const { url, mirror, clock } = await awkward(1, PAGES.slice(4, 5));
    const proxy = await listenBeforePages(url);
    const page = await opened(`${proxy.url}/feed`, skip, { fakeClock: true });
    const change = async (value: string): Promise<void> => {
      await recordChange({ mirror }, value);
      clock.advance(2000);
    };
    const live = (): ReturnType<typeof proxy.count> => proxy.count('/feed/live');
    await change('first <new> word');
    await page.getByText('first <new> word').waitFor();
    proxy.answerItself(BAD_GATEWAY);
    // The browser itself tries once.
    await page.getByText('New changes do not come by themselves now').waitFor();
    expect(live()).toEqual({ asked: 2, open: 0 });
    await change('second <new> word');
    for (const asked of [3, 4]) {
      await page.clock.fastForward(5000);
      await expect.poll(live, { timeout: 10_000 }).toEqual({ asked, open: 0 });
    }
    await setHidden(page, true);
    await page.clock.fastForward(60_000);
    await setHidden(page, false);
    await expect
      .poll(live, { message: 'only a page that is seen tries again' })
      .toEqual({ asked: 5, open: 0 });
    proxy.answerItself(null);
    await page.clock.fastForward(5000);
    await page.getByText('New changes appear here by themselves.').waitFor();
    await page.getByText('second <new> word').waitFor();
    await page.clock.fastForward(60_000);
    await change('third <new> word');
    await page.getByText('third <new> word').waitFor();
    expect(await page.getByText('<new> word').count(), 'each change once').toBe(3);
    expect(live()).toEqual({ asked: 6, open: 1 });
    await page.context().close();
  });

  test('a person places an order and cancels it, without JavaScript too', async ({ skip }) => {
    const { url, mirror } = await awkward(2, PAGES.slice(0, 1));
    for (const javaScriptEnabled of [true, false]) {
      const page = await opened(`${url}/engine`, skip, { javaScriptEnabled, viewport: PHONE });
      await page.selectOption('#kind', 'resync');
      await page.selectOption('#list', 'users');
      await page.click('text=Place the order');
      await page.waitForURL(/\/engine\/orders\/\d+$/);
      expect(await page.innerText('.facts')).toMatch(/State\s+waits/);
      if (javaScriptEnabled) expect(await findings(page)).toEqual([]);
      await page.click('text=Cancel this order');
      await page.getByText('a person cancelled it').waitFor();
      await page.context().close();
    }
    const query = `SELECT lists, state FROM sync_requests WHERE kind = 'resync' ORDER BY id`;
    const cancelled = { lists: ['users'], state: 'abandoned' };
    expect(await mirror.database.query(query)).toEqual([cancelled, cancelled]);
  });

  test('a person logs in with the token, and out again', async ({ skip }) => {
    const token = 't0ken.of~endpoints';
    const { url } = await served({}, { token });
    const page = await opened(url, skip);
    expect(new URL(page.url()).pathname).toBe('/login');
    expect(await findings(page)).toEqual([]);
    await page.fill('#token', token);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/`);
    await page.click('text=Log out');
    await page.waitForURL(`${url}/login`);
    await page.context().close();
  });
});
