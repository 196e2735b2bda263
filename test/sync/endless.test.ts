import { describe, expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import { downFrom } from '../support/outage.ts';
import { askedSince, count, type PageBody, reportOn, tampered } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

/** A mirror whose list of conversations `harm` changes after the first sync. `nth` is the page's number. */
async function harmed(
  harm: (page: PageBody, nth: number) => void,
  options: MirrorOptions = {},
): Promise<{ mirror: TestMirror; heal: () => void }> {
  let harmful = false;
  let pages = 0;
  const tamper = tampered((page, path, query) => {
    if (!harmful || !path.endsWith('/conversations')) return;
    pages = query['next_page'] === undefined ? 1 : pages + 1;
    harm(page, pages);
  });
  const mirror = await quickMirror({
    pageSize: 10,
    ...options,
    sandbox: { idType: 'string', conversations: [45], ...options.sandbox },
    wrapHttp: (http) =>
      tamper({
        close: http.close,
        // The sandbox refuses invented tokens: it gets its first page's instead.
        get: (path, query) => {
          const token = query['next_page'];
          if (!harmful || token === undefined) return http.get(path, query);
          const { next_page: _token, ...rest } = query;
          return http.get(path, rest);
        },
      }),
  });
  await mirror.sync();
  mirror.clock.advance(HOUR);
  harmful = true;
  return { mirror, heal: () => void (harmful = false) };
}

async function expectFailure(
  { mirror, heal }: Awaited<ReturnType<typeof harmed>>,
  problem: string,
  pages: number,
) {
  const before = mirror.sandbox.arrivals.length;
  expect(reportOn(await mirror.sync({ lists: ['conversations'] }), 'conversations')).toMatchObject({
    outcome: 'failed',
    error: { code: 'ENDLESS_LIST', message: expect.stringContaining(problem) },
  });
  expect(askedSince(mirror.sandbox, before)).toHaveLength(pages);
  expect(await count(mirror.database, `conversations WHERE missing_since IS NOT NULL`)).toBe(0);
  const failures = async (): Promise<unknown> =>
    (await mirror.writer.status(mirror.clock.now())).lists.find(({ list }) => list === 'conversations')
      ?.failures;
  expect(await failures()).toMatchObject({ sweeps: 1, requests: pages, lastCode: 'ENDLESS_LIST' });
  heal();
  mirror.clock.advance(HOUR);
  await mirror.sync();
  expect(await failures()).toBeNull();
}

describe('a list with fresh tokens for ever', () => {
  test('fails after two pages in a row without a new row', async () => {
    const all = await harmed((page, nth) => void (page.pagination.next_page = `fresh-${nth}`));
    await expectFailure(all, 'two pages in a row without a new row', 3);
    await expectEqualToService(all.mirror);
  });

  test('and new rows fails far beyond the pages that it is known to have', async () => {
    const all = await harmed((page, nth) => {
      page.results = [{ ...page.results[0], id: String(1_000_000 + nth) }];
      page.pagination.next_page = `fresh-${nth}`;
    });
    // 5 pages are known.
    await expectFailure(all, 'has more than 150 pages, but had 5', 150);
  });

  test('is read to its end by a resync if it has really grown that much', async () => {
    const { mirror } = await harmed((page, nth) => {
      page.results = [{ ...page.results[0], id: String(1_000_000 + nth) }];
      page.pagination.next_page = nth < 160 ? `fresh-${nth}` : null;
    });
    const report = await mirror.sync({ kind: 'resync', lists: ['conversations'] });
    expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', items: 160 });
  });
});

describe('page tokens in a cycle', () => {
  test('fail the list when a token comes again, not only when the last one does', async () => {
    const all = await harmed((page, nth) => {
      page.results = [{ ...page.results[0], id: String(1_000_000 + nth) }];
      page.pagination.next_page = nth % 2 === 1 ? 'A' : 'B';
    });
    await expectFailure(all, 'returned the same page token twice', 3);
  });

  test('of three pages are found across an interruption of the sweep', async () => {
    const { mirror } = await harmed((page, nth) => {
      page.results = [{ ...page.results[0], id: String(1_000_000 + nth) }];
      page.pagination.next_page = ['A', 'B', 'C'][nth % 3] ?? null;
    });
    let pagesLeft = 3;
    downFrom(mirror, (path) => path.includes('/conversations?') && pagesLeft-- <= 0);
    expect((await mirror.sync({ lists: ['conversations'] })).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync({ lists: ['conversations'] }), 'conversations')).toMatchObject({
      outcome: 'failed',
      error: { message: expect.stringContaining('returned the same page token twice') },
    });
    expect(askedSince(mirror.sandbox, before)).toHaveLength(1);
  });
});

test('one page without a new row, now and then, is not taken for an endless list', async () => {
  const { mirror } = await harmed((page, nth) => {
    if (nth % 2 === 1) page.results = [{ ...page.results[0], id: String(1_000_000 + nth) }];
    page.pagination.next_page = nth < 9 ? `fresh-${nth}` : null;
  });
  const report = await mirror.sync({ lists: ['conversations'] });
  expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', items: 45 });
});
