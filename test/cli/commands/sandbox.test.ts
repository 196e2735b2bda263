import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { testProgram } from '../../support/program.ts';

const KEY = { authorization: 'Bearer sandbox-key' };
const TAGS = '/inboxes/20117/tags';
const ROWS = '/inboxes/20117/conversations';

/** Runs `sandbox` on a free port, as its user would, until the test ends. */
async function serve(...argv: string[]): Promise<string> {
  const stop = new AbortController();
  let output = '';
  const write = (text: string): unknown => (output += text);
  const io = { env: {}, cwd: '.', stdout: { write }, stderr: { write }, signal: stop.signal };
  const ended = runProgram(['sandbox', '--port', '0', ...argv], io, '0.0.0-test');
  onTestFinished(async () => {
    stop.abort();
    expect(await ended).toBe(0);
  });
  const serving = expect.poll(() => output, { interval: 2 }).toContain('Ctrl-C stops it');
  await Promise.race([serving, ended.then((code) => expect([code, output]).toEqual([]))]);
  return /http:\S+\/v1/.exec(output)?.[0] ?? output;
}

/** The answer to one request: its status and its whole text. */
async function get(url: string, path: string, headers: Record<string, string> = KEY): Promise<string> {
  const answer = await fetch(url + path, { headers });
  const wait = answer.headers.get('retry-after') ?? 'no hint';
  return `${answer.status} ${wait} ${await answer.text()}`;
}

const rowsIn = (answer: string): number => answer.match(/"gmail_thread_id"/g)?.length ?? 0;

const EFFECTS: [argv: string[], path: string, effect: RegExp][] = [
  [[], '/inboxes', /^200 no hint \{"results":\[\{"id":"20117",/],
  [['--envelope', 'data'], '/inboxes', /^200 no hint \{"data":\{"results":\[\{"id":"20117",/],
  [['--envelope', 'top'], '/inboxes', /^200 no hint \{"results":/],
  [['--id-type', 'number'], '/inboxes', /"id":20117,/],
  [['--id-type', 'mixed'], ROWS, /"id":41000003,/],
  [['--inboxes', '0'], '/inboxes', /"results":\[\]/],
  [
    ['--seed', '2', '--inboxes', '1', '--users', '1'],
    '/inboxes/20117/users',
    /^200 [^{]*\{"results":\[\{[^{]*\]/,
  ],
  [['--tags', '0'], TAGS, /"results":\[\]/],
  [['--conversations', '0,7'], ROWS, /"results":\[\]/],
  [['--timestamps', 'iso'], '/inboxes', /"created_at":"20\d\d-/],
  [['--timestamps', 'milliseconds'], '/inboxes', /"created_at":\d{13},/],
  [['--last-page', 'missing'], '/inboxes', /"pagination":\{\}/],
  [['--last-page', 'empty'], '/inboxes', /"next_page":""/],
  [['--closed-status', 'close'], ROWS, /"status":"close"/],
  [['--error-form', 'B'], '/nothing', /^404 no hint \{"Message"/],
  [['--error-form', 'A', '--error-rate', '1'], '/inboxes', /^500 no hint \{"errors"/],
  [['--error-rate', '1'], '/inboxes', /^500 no hint \{"Message"/],
  [['--tag-search', 'partial'], `${TAGS}/search?name=Urg`, /"name":"Urgent"/],
  [['--tag-search', 'exact'], `${TAGS}/search?name=Urg`, /"results":\[\]/],
  [['--forbidden-list', '20117/tags'], TAGS, /^403/],
  [['--forbidden-list', '20117/tags'], '/inboxes/20117/users', /^200/],
  [['--forbidden-list', 'users', '--forbidden-list', 'tags'], TAGS, /^403/],
  [['--empty-list', 'inboxes'], '/inboxes', /"results":\[\]/],
  [['--endless-list', 'tags'], TAGS, /"next_page":"/],
  [['--rows-without-id', 'tags'], TAGS, /"results":\[\{"name"/],
  [['--unreadable-rows', 'tags'], TAGS, /"name":7,/],
  [['--other-account-after', '0'], '/inboxes', /@other\.example\.com/],
];

test.each(EFFECTS)('sandbox %j answers GET %s like %s', async (argv, path, effect) => {
  expect(await get(await serve(...argv), path)).toMatch(effect);
});

test('sandbox knows its key and keys without rights, which can be several', async () => {
  const url = await serve('--key', 'mine', '--forbidden-key', 'weak', '--forbidden-key', 'old');
  const statuses = [];
  for (const key of ['sandbox-key', 'weak', 'old', 'mine'])
    statuses.push((await get(url, '/inboxes', { authorization: `Bearer ${key}` })).slice(0, 3));
  expect(statuses).toEqual(['401', '403', '403', '200']);
});

test('sandbox limits rate and day, and hints at the wait by option', async () => {
  const strict = await serve('--retry-after', 'seconds');
  await get(strict, '/inboxes');
  expect(await get(strict, '/inboxes')).toMatch(/^429 1 \{"Message"/);
  const daily = await serve('--rate', '0', '--per-day', '1', '--retry-after', 'date');
  await get(daily, '/inboxes');
  expect(await get(daily, '/inboxes')).toMatch(/^429 \w{3}, .* GMT \{"Message"/);
});

test('sandbox gives each inbox its number of conversations, or shares them between inboxes', async () => {
  const url = await serve('--rate', '0', '--conversations', '13,40', '--shared', '1');
  const inboxes = await get(url, '/inboxes');
  const ids = Array.from(inboxes.matchAll(/"id":"(\d+)","display_name"/g), ([, id]) => id);
  expect(ids.length).toBe(2);
  const lists = [];
  for (const id of ids) lists.push(await get(url, `/inboxes/${id}/conversations?limit=100`));
  expect(lists.map(rowsIn)).toEqual([13, 40]);
  const [one = [], two = []] = lists.map((list) =>
    Array.from(list.matchAll(/\{"id":"(\d+)"/g), ([, id]) => id),
  );
  expect(one.filter((id) => two.includes(id)).length).toBeGreaterThan(6);
});

test('sandbox delays its answers and changes its data by option', async () => {
  const url = await serve('--latency', '60', '--activity', '10000000', '--rate', '0');
  const begin = performance.now();
  const newest = `${ROWS}?sort_order=desc&limit=100`;
  const before = await get(url, newest);
  expect(performance.now() - begin).toBeGreaterThan(55);
  await expect.poll(() => get(url, newest), { interval: 1 }).not.toBe(before);
});

test('sandbox delays each answer by a jitter of its own', async () => {
  const url = await serve('--jitter', '400', '--rate', '0');
  let longest = 0;
  for (let nth = 0; nth < 5; nth += 1) {
    const begin = performance.now();
    await get(url, '/inboxes');
    longest = Math.max(longest, performance.now() - begin);
  }
  expect(longest, 'of five delays from 0 to 400 ms').toBeGreaterThan(150);
});

test.each([
  [['--empty-list', 'folders'], 'LIST is inboxes, users, tags or conversations'],
  [['--empty-list', '20117/inboxes'], 'LIST is inboxes, users, tags or conversations'],
  [
    ['--empty-list', '1/tags'],
    'The sandbox has no inbox 1, so 1/tags cannot fail. Its inboxes begin with 20117',
  ],
  [['--empty-list', 'tags', '--endless-list', 'tags'], 'Two options let tags fail'],
  [['--conversations', '1,,2'], 'expected a number'],
  [['--conversations', '1,-2'], 'expected a number'],
  [['--other-account-after', '-1'], 'expected a number'],
  [['--error-form', 'C'], 'Allowed choices are mixed, A, B'],
  [['--key', ''], 'It is empty'],
])('sandbox %j is refused with exit code 2', async (argv, message) => {
  const { exitCode, stderr } = await (await testProgram()).run('sandbox', '--port', '0', ...argv);
  expect([exitCode, stderr.replaceAll(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(message)]);
});

test('the help groups the options of sandbox, and docs/commands.md describes each of them', async () => {
  const { stdout } = await (await testProgram()).run('sandbox', '--help');
  expect(stdout.match(/^\w.*:$/gm)).toEqual([
    'Address and key:',
    'Data:',
    'Limits and network:',
    'Form of the answers:',
    'Failures:',
    'Options:',
    'Example:',
  ]);
  const document = readFileSync(new URL('../../../docs/commands.md', import.meta.url), 'utf8');
  const section = /\n## sandbox\n.*?(?=\n## |$)/s.exec(document)?.[0] ?? '';
  const flagsIn = (text: string): string[] => [...new Set(text.match(/--[a-z]+(?:-[a-z]+)*/g))].sort();
  expect(flagsIn(section)).toEqual(flagsIn(stdout).filter((flag) => flag !== '--help'));
});

test('sandbox says that a port is taken in words', async () => {
  const program = await testProgram();
  const { port } = new URL(program.env['INBOX_API_URL']!);
  const { exitCode, stderr } = await program.run('sandbox', '--port', port);
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringMatching(
      /\(another program, perhaps another sandbox, listens there\)\. Choose another port/,
    ),
  ]);
});
