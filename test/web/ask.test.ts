import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readExamples } from '../../src/query/figures/examples.ts';
import { onlyReading } from '../../src/query/reads/guard.ts';
import { openQuestions } from '../../src/query/reads/question.ts';
import { type Answered, type Served, served } from '../daemon/http/served.ts';
import { lasting } from '../support/lasting.ts';

const EXAMPLES = readExamples(Date.now()).flatMap(({ examples }) => examples);

const compressors = { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) };

const asked = (ask: Served['ask'], sql: string, path = '/ask'): Promise<Answered> =>
  ask(`${path}?${String(new URLSearchParams({ sql }))}`, { headers: { accept: 'text/html' } });

const words = ({ body }: Answered): string =>
  body
    .replaceAll('\n', ' ')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/ +/g, ' ');

describe('of a mirror that has been filled', () => {
  let house: Served;
  beforeAll(async () => {
    const { made, release } = await lasting(async () => {
      const one = await served();
      await one.sync();
      return one;
    });
    house = made;
    return release;
  });

  test('an answer is a table with its number of rows, and a chart where its columns suit one', async () => {
    const { ask } = house;
    const answer = await asked(ask, 'SELECT inbox, open, pending FROM backlog_now ORDER BY inbox');
    expect(words(answer)).toMatch(
      /Answer 2 rows\. .*Answer inbox open pending Billing \d+ \d+ Support \d+ \d+/,
    );
    expect(answer.body).toContain('aria-label="open, pending by inbox; the table below has the numbers"');
    const years = await asked(ask, `SELECT '2025-12-31' AS day, 1 AS n UNION ALL SELECT '2026-01-01', 2`);
    expect(years.body).toMatch(/>31 Dec 2025<\/text>[^]*>1 Jan 2026<\/text>/);
    const plain = await asked(ask, 'SELECT 1 AS one, NULL AS absent');
    expect(words(plain)).toContain('one absent 1 NULL');
    expect(plain.body).not.toContain('role="img"');
  });

  test('a chart keeps the ends of long ids, and its table has whole names in the order of the answer', async () => {
    const { ask } = house;
    const { body } = await asked(
      ask,
      `SELECT '9007199254741001' AS id, 4 AS n UNION ALL SELECT '9007199254742002', 3
       UNION ALL SELECT 'Oluwaseun Müller-Lüdenscheidt', 2`,
    );
    expect(
      body.match(/<text[^>]*text-anchor="(?:start|middle|end)">[^<]*…[^<]*|…[^<]*<\/text>/g)?.join(),
    ).toMatch(/…7199254741001.*…7199254742002.*Oluwaseun Mül…/);
    const numbers = words({ body: body.slice(body.indexOf('<summary>Numbers')) } as Answered);
    expect(numbers).toMatch(
      /^ Numbers .* 9007199254741001 4 9007199254742002 3 Oluwaseun Müller-Lüdenscheidt 2 /,
    );
  });

  test('an answer that a LIMIT may have cut says so, and links to all rows', async () => {
    const { ask } = house;
    const cut = await asked(ask, 'SELECT id FROM conversations ORDER BY id\nLIMIT 5;');
    expect(words(cut)).toContain('Answer 5 rows: the SQL ends with LIMIT 5. Show all rows .');
    expect(cut.body).toContain('href="/ask?sql=SELECT+id+FROM+conversations+ORDER+BY+id"');
    for (const whole of [
      'SELECT 1 AS n LIMIT 5',
      'SELECT n FROM (SELECT 1 AS n LIMIT 1)',
      'SELECT 1 -- LIMIT 1',
    ])
      expect(words(await asked(ask, whole)), whole).toContain('Answer 1 row. ');
  });

  test('every question of the cookbook is offered by who asks it, and runs', async () => {
    const { ask } = house;
    const page = words(await ask('/ask', { headers: { accept: 'text/html' } }));
    expect(page).toMatch(
      /A team lead 11 .* An agent 7 .* An operator 4 .* An engineer 4 .* Views \d+, .* Tables \d+,/,
    );
    expect(page).toContain('The answer appears here');
    for (const { question, sql } of EXAMPLES)
      expect(words(await asked(ask, sql)), question).toMatch(/Answer \d+ rows?/);
  });

  test('a question mark in the SQL of an address that a person wrote is kept', async () => {
    const { ask } = house;
    const written = "sql=SELECT+'a?'+AS+one,+'?b'+AS+two";
    expect(words(await ask(`/ask?${written}`, { headers: { accept: 'text/html' } }))).toContain(
      'one two a? ?b',
    );
    expect((await ask(`/ask.csv?${written}`)).body).toMatch(/^one,two\r?\na\?,\?b\r?\n$/);
  });

  test('wrong SQL is answered with its place and a hint', async () => {
    const { ask } = house;
    const { status, body } = await asked(ask, 'SELECT opn FROM backlog_now');
    expect(status).toBe(200);
    expect(body).toContain('line 1, column 8');
    // The sentences wrap; the place keeps its columns.
    expect(body).toMatch(
      /<p>[^<]+<\/p>\s*<pre tabindex="0">\s*line 1, column 8:\n +SELECT opn .*\n +\^+<\/pre>/,
    );
    expect(body).toMatch(/<p>Perhaps you meant &quot;open&quot;\.<\/p>/);
  });

  test('wrong SQL is answered with what a person in a browser has', async () => {
    const { ask } = house;
    const unknown = words(await asked(ask, 'SELECT * FROM nothing_of_the_kind'));
    expect(unknown).toContain('The tables and their columns are under &quot;Views and tables&quot;, below.');
    expect(unknown).not.toContain('inbox-mirror tables');
    expect(words(await asked(ask, 'SELECT * FROM backlog'))).toMatch(
      /Perhaps you meant &quot;backlog_(?:now|daily)&quot; or &quot;backlog_(?:now|daily)&quot;\./,
    );
    const refused = words(await asked(ask, 'SELECT * FROM pragma_database_list'));
    expect(refused).toContain(
      'statements may only read the mirror. The catalogue of the database is closed; the tables and views of the mirror are open.',
    );
  });

  test('a statement that is no question changes nothing', async () => {
    const { ask, mirror } = house;
    const count = 'SELECT count(*) AS n FROM conversations';
    const before = await mirror.database.query(count);
    for (const [sql, message] of [
      ['DELETE FROM conversations', /read-only here|returns no rows/],
      ['DELETE FROM conversations RETURNING id', /read-only here|returns no rows/],
      ['DROP TABLE conversations', /read-only here|returns no rows/],
      ['SELECT 1; DELETE FROM conversations', /more than one statement/],
      ["ATTACH 'other.db' AS other", /returns no rows|The SQL cannot be run/],
      ['-- nothing', /no statement, only comments/],
      ['SELECT 1'.padEnd(9000) + '-- end', /at most 8000/],
    ] as const)
      expect(words(await asked(ask, sql)), sql.slice(0, 40)).toMatch(message);
    expect(await mirror.database.query(count)).toEqual(before);
  });

  test('no question changes how the next one is answered', async () => {
    const { ask } = house;
    for (const sql of [
      'PRAGMA case_sensitive_like = ON',
      '; /* x */ pragma case_sensitive_like(1)',
      'EXPLAIN PRAGMA case_sensitive_like = ON',
      'explain query plan PRAGMA case_sensitive_like = ON',
      'PRAGMA hard_heap_limit = 1',
    ])
      expect(words(await asked(ask, sql)), sql).toContain('A pragma is refused here');
    expect(words(await asked(ask, `SELECT 'A' LIKE 'a' AS same`))).toContain('same 1');
  });

  test('a pragma in the form of a table is refused too, however its name is quoted', async () => {
    const { ask } = house;
    for (const sql of [
      'SELECT * FROM pragma_database_list',
      "SELECT * FROM PRAGMA_table_info('conversations')",
      'SELECT * FROM main."pragma_database_list"',
      'SELECT * FROM [pragma_database_list]',
      'SELECT * FROM `pragma_database_list`',
      "WITH x AS (SELECT * FROM 'pragma_table_info'('conversations')) SELECT * FROM x",
    ])
      expect(words(await asked(ask, sql)), sql).toContain('A pragma is refused here');
    expect(words(await asked(ask, `SELECT 'a pragma_' AS text`))).toContain('text a pragma_');
  });

  test('values are text, never HTML', async () => {
    const { ask } = house;
    const { body } = await asked(ask, `SELECT '<script>alert(1)</script>' AS "<b>x</b>"`);
    expect(body).not.toMatch(/<script>alert|<b>x/);
  });

  test('a download has all rows as CSV or JSON, and no cell that a spreadsheet would run', async () => {
    const { ask, mirror } = house;
    const sql = `SELECT id, '=1+1' AS formula, raw FROM conversations ORDER BY id`;
    const csv = await asked(ask, sql, '/ask.csv');
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="answer.csv"',
    });
    expect(csv.body.match(/,'=1\+1,/g)).toHaveLength(270);
    expect((await asked(ask, 'SELECT 1 AS "=1+1"', '/ask.csv')).body).toMatch(/^'=1\+1\r?\n1\r?\n$/);
    const json = await asked(ask, sql, '/ask.json');
    const rows = JSON.parse(json.body) as { id: string; raw: object }[];
    const ids = await mirror.database.query<{ id: string }>('SELECT id FROM conversations ORDER BY id');
    expect(rows.map(({ id }) => id)).toEqual(ids.map(({ id }) => id));
    expect(rows[0]?.raw).toBeTypeOf('object');
    const wrong = await asked(ask, 'SELECT 1 AS a, 2 AS a', '/ask.json');
    expect([wrong.status, words(wrong)]).toEqual([
      400,
      expect.stringContaining('Two columns are named &quot;a&quot;'),
    ]);
  });

  test('the page shows at most 10,000 cells, and says that there are more', async () => {
    const { ask } = house;
    const columns = Array.from({ length: 500 }, (_, nth) => `1 AS c${nth}`).join(', ');
    const page = await asked(ask, `SELECT ${columns} FROM conversations`);
    expect(words(page)).toContain('The first 20 rows of more.');
  });

  test('a download as Parquet has all rows, and each column the kind that its values have', async () => {
    const { url, mirror } = house;
    const sql = `SELECT id, first_seen_at AS seen, '2026-03-02' AS day, 7 AS seven, 0.5 AS half, raw, NULL AS none,
      9007199254740993 AS long FROM conversations ORDER BY id`;
    const found = await fetch(`${url}/ask.parquet?${String(new URLSearchParams({ sql }))}`);
    expect(found.headers.get('content-type')).toBe('application/vnd.apache.parquet');
    const rows = await parquetReadObjects({ file: await found.arrayBuffer(), compressors });
    const ids = await mirror.database.query<{ id: string; raw: object }>(
      'SELECT id, raw FROM conversations ORDER BY id',
    );
    expect(rows.map(({ id }) => id as string)).toEqual(ids.map(({ id }) => id));
    expect(rows[0]).toMatchObject({
      seen: expect.any(Date) as Date,
      day: new Date('2026-03-02T00:00:00Z'),
      seven: 7n,
      half: 0.5,
      none: null,
      long: 9007199254740993n,
    });
    expect(JSON.parse(String(rows[0]?.['raw']))).toEqual(ids[0]?.raw);
    const twice = await fetch(`${url}/ask.parquet?sql=SELECT+1+AS+a,+2+AS+a`);
    expect([twice.status, await twice.text()]).toEqual([400, expect.stringContaining('Two columns')]);
    const empty = await fetch(`${url}/ask.parquet?sql=SELECT+1+AS+a+WHERE+1+=+2`);
    expect(await parquetReadObjects({ file: await empty.arrayBuffer() })).toEqual([]);
  });
});

test('an endless question is stopped, and at most 2 are answered at a time', async () => {
  const { mirror } = await served();
  const questions = openQuestions(`file:${mirror.database.name}`, 1000);
  onTestFinished(() => questions.close());
  const { ask } = questions;
  const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`;
  const { signal } = new AbortController();
  const answers = [ask(endless, 1, signal), ask(endless, 1, signal)].map(async (answer) => {
    await expect(answer).rejects.toThrow('The query took longer than 1 s and was stopped.');
  });
  await expect(ask('SELECT 1', 1, signal)).rejects.toThrow('2 questions are being answered now.');
  await Promise.all(answers);
  expect(await ask('SELECT 1 AS one', 1, signal)).toMatchObject({ rows: [[1]], complete: true });
});

test('a question stops when the person leaves', async () => {
  const { mirror } = await served();
  const left = new AbortController();
  const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`;
  const questions = openQuestions(`file:${mirror.database.name}`);
  onTestFinished(() => questions.close());
  const answer = questions.ask(endless, 1, left.signal);
  left.abort(new Error('the person has left'));
  await expect(answer).rejects.toThrow('the person has left');
});

test.each(['/ask', '/ask.csv'])(
  'the daemon logs no error for %s, which the person breaks off',
  async (page) => {
    const { url, logged, ask } = await served();
    const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`;
    const left = new AbortController();
    const path = `${page}?${String(new URLSearchParams({ sql: endless }))}`;
    const asking = [1, 2].map(async () => {
      await expect(fetch(url + path, { signal: left.signal })).rejects.toThrow(/aborted/);
    });
    const other = async (): Promise<string> => words(await asked(ask, 'SELECT 1 AS one'));
    await expect.poll(other).toContain('2 questions are being answered now.');
    left.abort();
    await Promise.all(asking);
    await expect.poll(other).toContain('one 1');
    expect(logged.filter((line) => (JSON.parse(line) as { level: number }).level >= 40)).toEqual([]);
  },
);

test('a question whose process cannot start fails, and later ones are answered', async () => {
  const { mirror } = await served();
  const questions = openQuestions(`file:${mirror.database.name}`);
  onTestFinished(() => questions.close());
  const one = (): ReturnType<typeof questions.ask> =>
    questions.ask('SELECT 1 AS one', 1, new AbortController().signal);
  const { execPath } = process;
  onTestFinished(() => void (process.execPath = execPath));
  process.execPath = '/nowhere/node';
  for (let tries = 0; tries < 3; tries += 1) await expect(one()).rejects.toThrow('The reader did not start.');
  process.execPath = execPath;
  expect((await one()).rows).toEqual([[1]]);
});

test('a row that would fill the memory of the daemon is an error', async () => {
  const { ask, sync } = await served();
  await sync();
  const long = words(await asked(ask, 'SELECT hex(zeroblob(10000000))'));
  expect(long).toContain(
    'A row of the answer has 20,000,000 characters, and at most 4,000,000 are allowed here.',
  );
  // It may end the process before it is a row.
  const longest = words(await asked(ask, 'SELECT hex(zeroblob(400000000))'));
  expect(longest).toMatch(/No answer (The query was stopped: it needed more than 512 MB|A row|The SQL)/);
  expect(words(await asked(ask, 'SELECT 1 AS again'))).toContain('again 1');
});

test('every example is a question that PostgreSQL may be asked, too', () => {
  for (const { sql } of EXAMPLES) expect(onlyReading(sql)).toBe(sql);
});

test('while four files are sent to clients that do not read, a fifth is refused', async () => {
  const { ask, sync, url } = await served();
  await sync();
  const small = '/ask.csv?sql=SELECT+1+AS+one';
  // 46 MB of JSON, more than the buffers of a connection hold: each row repeats the name.
  const name = '\u3042'.repeat(190);
  const large = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80000) SELECT i AS "${name}" FROM n`;
  const sockets: Socket[] = [];
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  for (let nth = 0; nth < 4; nth += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    sockets.push(socket);
    const path = `/ask.json?${String(new URLSearchParams({ sql: large }))}`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await once(socket, 'readable');
  }
  const refused = await ask(small);
  expect([refused.status, refused.body]).toEqual([
    503,
    expect.stringContaining('4 files are being downloaded'),
  ]);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await ask(small)).status).toBe(200);
});
