import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { renderTable } from '../../../src/cli/output/table.ts';
import { Bars } from '../../../src/cli/pass/bars.ts';

const PACE = { budget: { perSecond: 1, perDay: 5000, pageSize: 100 }, sentBefore: 40 };
const CONVERSATIONS = { list: 'conversations', inboxId: '7' } as const;
const TAGS = { list: 'tags', inboxId: '7' } as const;

test('the progress shows a bar for a list of known size, and rate, budget and time left for all', () => {
  const bars = new Bars(PACE, () => null, 0);
  bars.apply({ kind: 'list-known', key: CONVERSATIONS, expectedItems: 400 });
  bars.apply({ kind: 'list-known', key: TAGS, expectedItems: 8 });
  bars.apply({ kind: 'list-begun', key: CONVERSATIONS, resumedAtPage: 0 });
  bars.apply({ kind: 'page', key: CONVERSATIONS, pages: 1, items: 100, changed: 0, last: false });
  const [bar, summary] = bars.render(2000, 120).split('\n');
  expect(bar).toBe(
    `conversations of inbox 7 ${'█'.repeat(6)}${'░'.repeat(18)} 1 page, 100 of about 400 rows`,
  );
  expect(summary).toBe('0 of 2 lists · 50 rows/s · budget 41 of 5,000 · about 4 s left');
});

test('the progress shows neither share nor time left for a list of unknown size', () => {
  const bars = new Bars(PACE, () => null, 0);
  bars.apply({ kind: 'list-known', key: TAGS, expectedItems: null });
  bars.apply({ kind: 'list-begun', key: TAGS, resumedAtPage: 0 });
  expect(bars.render(1000, 120)).toBe(
    `tags of inbox 7 ${'·'.repeat(24)} 0 pages, 0 rows\n0 of 1 list · 0 rows/s · budget 40 of 5,000 · 0 pages, 0 rows, total unknown`,
  );
});

test('the progress shows no share of a list of one page, nor a total that it has passed', () => {
  const bars = new Bars(PACE, () => null, 0);
  bars.apply({ kind: 'list-known', key: TAGS, expectedItems: 98 });
  bars.apply({ kind: 'list-begun', key: TAGS, resumedAtPage: 0 });
  const tags = (): string | undefined => bars.render(1000, 120).split('\n')[0];
  expect(tags()).toBe(`tags of inbox 7 ${'·'.repeat(24)} 0 pages, 0 of about 98 rows`);
  bars.apply({ kind: 'page', key: TAGS, pages: 1, items: 100, changed: 0, last: false });
  expect(tags()).toBe(`tags of inbox 7 ${'·'.repeat(24)} 1 page, 100 rows`);
});

test('the progress shows at most eight lists, and no line is wider than the terminal', () => {
  const bars = new Bars(PACE, () => null, 0);
  for (let inbox = 1; inbox <= 30; inbox += 1)
    bars.apply({ kind: 'list-begun', key: { list: 'users', inboxId: String(inbox) }, resumedAtPage: 0 });
  const lines = bars.render(1000, 40).split('\n');
  expect(lines.filter((line) => line.startsWith('users of'))).toHaveLength(8);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(40);
});

test('a note of a wait shows the time that is left of it', () => {
  const bars = new Bars(PACE, () => null, 0);
  bars.note('No request is sent now: 429.', new Date(90_000));
  const noteAt = (now: number) => bars.render(now, 120).split('\n').at(-1);
  expect(noteAt(0)).toBe('No request is sent now: 429. The next request leaves in 1 min 30 s.');
  expect(noteAt(60_000)).toBe('No request is sent now: 429. The next request leaves in 30 s.');
  expect(noteAt(90_000)).toBe('No request is sent now: 429. The next request leaves now.');
});

test('a table aligns columns, numbers to the right, and keeps a cell with line breaks in its row', () => {
  const table = renderTable(
    { write: () => undefined },
    [{ title: 'name' }, { title: 'n', align: 'right' }],
    [
      ['日本', '5'],
      ['a\nb', '1,000'],
    ],
  );
  expect(table).toBe('name      n\n日本      5\na⏎b   1,000');
});

test('a table with a name as long as the service may send is printed at once', () => {
  // The time of a library that measured each of its ends would be minutes.
  const name = '字'.repeat(30_000);
  const table = renderTable({ write: () => undefined }, [{ title: 'name' }, { title: 'n' }], [[name, '5']]);
  expect(table.split('\n').at(-1)).toBe(`${name}  5`);
});

const LISTS = [{ title: 'inbox' }, { title: 'rows', align: 'right' as const }, { title: 'outcome' }];

test.each([
  [
    'wraps the texts of the last column between words',
    50,
    ['Support (20117)', '1,204', 'already complete, and nothing of it has changed'],
    [
      'inbox             rows  outcome',
      'Support (20117)  1,204  already complete, and',
      '                        nothing of it has changed',
    ],
  ],
  [
    'puts them below the row where there is no room beside it',
    40,
    ['Returns 2 (20644)', '1,204', 'already complete'],
    ['inbox               rows', '    outcome', 'Returns 2 (20644)  1,204', '    already complete'],
  ],
  [
    'cuts a long name where even the other columns do not fit',
    30,
    ['A mailbox with a very long name (20644)', '1,204', 'already complete'],
    [
      'inbox                     rows',
      '    outcome',
      'A mailbox w…ame (20644)  1,204',
      '    already complete',
    ],
  ],
])('a table on a narrow terminal %s', (_what, columns, row, expected) => {
  const output = { write: () => undefined, isTTY: true, columns };
  const lines = stripVTControlCharacters(renderTable(output, LISTS, [row])).split('\n');
  expect(lines).toEqual(expected);
});

test('a bar shrinks and the name loses its id before a line is cut', () => {
  const bars = new Bars(PACE, () => 'Support and Sales', 0);
  bars.apply({ kind: 'list-known', key: CONVERSATIONS, expectedItems: 14_000 });
  bars.apply({ kind: 'list-begun', key: CONVERSATIONS, resumedAtPage: 0 });
  bars.apply({ kind: 'page', key: CONVERSATIONS, pages: 70, items: 7000, changed: 0, last: false });
  const figures = '70 pages, 7,000 of about 14,000 rows';
  const lineAt = (width: number): string => bars.render(1000, width).split('\n')[0] ?? '';
  expect(lineAt(120)).toBe(
    `conversations of Support and Sales (7) ${'█'.repeat(12)}${'░'.repeat(12)} ${figures}`,
  );
  expect(lineAt(80)).toBe(`conversations of Support and Sales (7) ${figures}`);
  expect(lineAt(74)).toBe(`conversations of Support and Sales ${figures}`);
  expect(lineAt(60)).toBe(`conversations of Supp… ${figures}`);
});
