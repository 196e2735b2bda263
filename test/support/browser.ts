import sparticuz from '@sparticuz/chromium';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Where Chromium is known to start, a test without it fails. Elsewhere such tests are skipped, and say why. */
const MUST_START = process.env['CI'] !== undefined && process.platform === 'linux';

/** No sandbox: CI runs as root. The graphics card is replaced by software. */
const ARGUMENTS = ['--no-sandbox', '--no-zygote', '--in-process-gpu', '--use-angle=swiftshader'];

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

/** What axe finds on a page: each rule, with the elements that break it. */
export async function findings(page: Page): Promise<string[]> {
  // Not a script of the page: its Content-Security-Policy would refuse one.
  await page.evaluate(axe.source);
  return await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof import('axe-core') }).axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
    );
  });
}

/** True if every link, button and field of a page can be reached by the Tab key alone. */
export async function unreached(page: Page): Promise<string[]> {
  const wanted = await page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>(
      'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]',
    );
    const visible = [...all].filter((element) => element.checkVisibility());
    visible.forEach((element, index) => (element.dataset['nth'] = String(index)));
    return visible.map((element) => element.outerHTML.slice(0, 120));
  });
  const reached = new Set<number>();
  for (let presses = 0; presses <= wanted.length; presses += 1) {
    await page.keyboard.press('Tab');
    const nth = await page.evaluate(
      () => (document.activeElement as HTMLElement | null)?.dataset['nth'] ?? null,
    );
    if (nth !== null) reached.add(Number(nth));
  }
  return wanted.filter((_element, index) => !reached.has(index));
}
