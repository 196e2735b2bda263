import { expect, onTestFinished, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createHttp } from '../../src/service/http.ts';
import { count, reportOn } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';

/** Unlike a name of the sandbox, no row holds it by chance. */
const SECRET = 'sk_live/7Hq2"zW9';

/** A mirror whose requests carry the secret. */
async function mirrorWithSecret(key = SECRET) {
  const sandbox = createSandbox({ rate: 0, perDay: 0, key, inboxes: 1, conversations: [1] });
  const { url, close } = await sandbox.listen();
  onTestFinished(() => close());
  const http = createHttp(url, () => key);
  onTestFinished(() => http.close());
  return await quickMirror({ service: { sandbox, url, http } });
}

test('a page token that contains the key fails its list with that reason, and is stored nowhere', async () => {
  const { sandbox, ...mirror } = await mirrorWithSecret();
  const token = `after-9.${Buffer.from(SECRET).toString('base64url')}`;
  const body = JSON.stringify({ results: [{ id: '1', name: 'A' }], pagination: { next_page: token } });
  sandbox.script(({ path }) => (path.includes('/tags') ? { status: 200, body } : undefined));
  const { error } = reportOn(await mirror.sync(), 'tags');
  expect(error).toMatchObject({
    code: 'BAD_ANSWER',
    message: expect.stringContaining('pagination.next_page contains the API key') as string,
  });
});

test('rows that repeat the key are stored without it, and do not differ in the next sync', async () => {
  const { sandbox, ...mirror } = await mirrorWithSecret();
  const escaped = JSON.stringify(SECRET).replaceAll('/', '\\/').replaceAll('H', '\\u0048');
  const page = (rows: string): string => `{"results":[${rows}],"pagination":{"next_page":null}}`;
  sandbox.script(({ path }) => {
    if (path.includes('/users'))
      return {
        status: 200,
        body: page(`{"id":1,"first_name":${escaped},"note":{"${SECRET.slice(0, 7)}":1}}`),
      };
    if (path.includes('/tags'))
      return {
        status: 200,
        body: page(
          `{"id":9007199254740993,"name":"A ${encodeURIComponent(SECRET)} B","extra":{${escaped}:[${escaped}]}},` +
            `{"id":"x","name":${escaped}}`,
        ),
      };
    return undefined;
  });

  await mirror.sync();
  const changes = await count(mirror.database, 'changes');
  mirror.clock.advance(HOUR);
  await mirror.sync();

  expect(await count(mirror.database, 'changes')).toBe(changes);
  expect(await mirror.database.query('SELECT id, first_name FROM inbox_users')).toEqual([
    { id: '1', first_name: '[key]' },
  ]);
  expect(await mirror.database.query('SELECT id, name FROM inbox_tags')).toEqual([
    { id: '9007199254740993', name: 'A [key] B' },
  ]);
  const stored = JSON.stringify([
    await mirror.database.query('SELECT raw FROM inbox_tags'),
    await mirror.database.query('SELECT raw FROM rejects'),
  ]);
  expect(stored).not.toMatch(/7H|zW9/);
  expect(stored).toContain('[key]');
});

const DIGITS = '48151623421081';
const NUMBERS = [DIGITS, `-9${DIGITS}00`, `481.51623421081`, `4.8151623421081e13`, `1${DIGITS}.5`];

test.each([NUMBERS, ...NUMBERS.map((number) => [number])].map((numbers) => [numbers]))(
  'a key of digits that comes as a number is stored nowhere: %s',
  async (numbers) => {
    const { sandbox, ...mirror } = await mirrorWithSecret(DIGITS);
    const row = `{"id":1,"first_name":"A","extra":[7,${numbers.join()},${DIGITS.slice(1)}]}`;
    sandbox.script(({ path }) =>
      path.includes('/users')
        ? { status: 200, body: `{"results":[${row}],"pagination":{"next_page":null}}` }
        : undefined,
    );
    await mirror.sync();
    const [user] = await mirror.database.query<{ raw: unknown }>('SELECT raw FROM inbox_users');
    const raw = (typeof user?.raw === 'string' ? JSON.parse(user.raw) : user?.raw) as { extra: unknown[] };
    expect(raw.extra).toEqual([7, ...numbers.map(() => '[key]'), Number(DIGITS.slice(1))]);
  },
);
