import sparticuz from '@sparticuz/chromium';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Where Chromium is known to start, a test without it fails. Elsewhere such tests are skipped, and say why. */
const MUST_START = process.env['CI'] !== undefined && process.platform === 'linux';

/** No sandbox: CI runs as root. No graphics card: to imitate one costs a fifth of the browser's CPU. */
const ARGUMENTS = ['--no-sandbox', '--no-zygote', '--disable-gpu', '--disable-software-rasterizer'];

/** A browser, or a sentence that says why there is none. */
export async function startBrowser(): Promise<Browser | string> {
  const failures: string[] = [];
  const ways = [
    async () => ({ executablePath: await sparticuz.executablePath(), args: ARGUMENTS }),
    async () => ({ channel: 'chrome' }),
  ];
  // The first Chromium is inside an npm package, for Linux only; the other is an installed Chrome.
  for (const way of process.platform === 'linux' ? ways : ways.slice(1))
    try {
      return await chromium.launch(await way());
    } catch (error) {
      failures.push(String(error).split('\n')[0] ?? '');
    }
  const sentence = `No browser starts on this machine: ${failures.join('; ')}`;
  if (MUST_START) throw new Error(sentence);
  return sentence;
}

/**
 * The findings of axe on a page: each rule, with the elements that break it.
 * @param rules only these rules; by default all
 */
export async function findings(page: Page, rules: string[] = []): Promise<string[]> {
  // Not a script of the page: its Content-Security-Policy would refuse one.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  return await page.evaluate(async (only) => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof import('axe-core') };
    const { violations } = await inPage.run(only.length === 0 ? {} : { runOnly: only });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
    );
  }, rules);
}

const FOCUSABLE =
  'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]:not([tabindex="-1"])';

/** The links, buttons and fields of a page that the Tab key alone does not reach. */
export async function unreached(page: Page): Promise<string[]> {
  const count = await page.evaluate((selector) => {
    const all = [...document.querySelectorAll<HTMLElement>(selector)];
    const visible = all.filter((element) => element.checkVisibility());
    for (const element of visible) {
      element.dataset['unreached'] = '';
      element.addEventListener('focus', () => delete element.dataset['unreached']);
    }
    return visible.length;
  }, FOCUSABLE);
  for (let presses = 0; presses <= count; presses += 1) await page.keyboard.press('Tab');
  return await page.evaluate(() =>
    [...document.querySelectorAll('[data-unreached]')].map((element) => element.outerHTML.slice(0, 120)),
  );
}
