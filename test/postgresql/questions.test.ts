import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { readCatalogue } from '../../src/database/columns.ts';
import { readExamples } from '../../src/query/figures/examples.ts';
import { openBounded } from '../../src/query/reads/bounded.ts';
import { refuseCalledFields, CONVERTING } from '../../src/query/reads/fields.ts';
import { onlyReading } from '../../src/query/reads/guard.ts';
import { openQuestions } from '../../src/query/reads/question.ts';
import { onServer } from '../support/provider.ts';
import { freshMirrorFile } from '../support/template.ts';

async function connected(url: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const NAMES = `jsonb_array_elements_text('["server_version"]')`;

/** Each calls a function without its name before a parenthesis, or hides it from a reader of tokens. */
const CALLS = [
  `SELECT ('SELECT to_tsvector(current_setting(''server_version''))'::text).ts_stat`,
  `SELECT x.current_setting FROM ${NAMES} x`,
  `SELECT x.CURRENT_SETTING FROM ${NAMES} x`,
  `SELECT x . /* no name */ "current_setting" FROM ${NAMES} x`,
  `SELECT x.\n-- no name\ncurrent_setting FROM ${NAMES} AS x`,
  `SELECT (x.a).current_setting FROM ${NAMES} AS x(a)`,
  `SELECT ('server_version'::text).current_setting`,
  `SELECT CAST('server_version' AS text) AS a, (text 'server_version').current_setting`,
  `WITH x AS (SELECT 'server_version' AS current_setting) SELECT (x.current_setting).current_setting FROM x`,
  `SELECT * FROM ${NAMES} x, LATERAL (SELECT x.current_setting) y`,
  `SELECT 1 FROM ${NAMES} x ORDER BY x.current_setting USING <`,
  `SELECT 1 FROM ${NAMES} x GROUP BY x.current_setting`,
  `SELECT €1.current_setting FROM ${NAMES} €1`,
  `SELECT \u00a01.current_setting FROM ${NAMES} \u00a01`,
  `SELECT x.xmlagg FROM (SELECT xml '<a/>') x(y)`,
  `SELECT (ROW(x)).row_to_json FROM ${NAMES} x`,
  `SELECT x.text_of_mirror FROM ${NAMES} x`,
  `SELECT public.lower('A')`,
  `SELECT "other" . "log"(1)`,
  `SELECT 1 OPERATOR(pg_catalog.+) 1`,
  `SELECT * FROM xmltable('/a' PASSING xml '<a/>' COLUMNS b text)`,
  `SELECT * FROM json_table('[1]', '$[*]' COLUMNS (a int PATH '$'))`,
  `SELECT xmlparse(CONTENT '<a/>')`,
  `SELECT collation for ('a'::text)`,
  `SELECT * FROM conversations TABLESAMPLE system (1)`,
  `SELECT * FROM ROWS FROM (generate_series(1, 2))`,
];

test('a function that is called by the notation of a field, or by other grammar, is refused', async () => {
  const url = await freshMirrorFile();
  await onServer(`CREATE FUNCTION text_of_mirror(text) RETURNS text LANGUAGE sql AS 'SELECT version()'`, url);
  onTestFinished(() => onServer('DROP FUNCTION text_of_mirror', url));
  const reader = openBounded(url);
  onTestFinished(() => reader.close());
  await reader.visit(30_000, async (read) => {
    for (const sql of CALLS)
      await expect((async () => await refuseCalledFields(read, onlyReading(sql)))(), sql).rejects.toThrow(
        'is refused here',
      );
  });
  const questions = openQuestions(url);
  onTestFinished(() => questions.close());
  const { signal } = new AbortController();
  await expect(questions.ask(CALLS[1] ?? '', 10, signal)).rejects.toThrow(
    'The name "current_setting" after a dot is refused here: statements may only read the mirror. It is a ' +
      'function of the server; give the column another name with AS.',
  );
});

test('columns after a dot pass: of the mirror, of the statement, and the documented questions', async () => {
  const reader = openBounded(await freshMirrorFile());
  onTestFinished(() => reader.close());
  const doc = readFileSync(join(import.meta.dirname, '../../docs/sql.md'), 'utf8');
  const documented = Array.from(doc.matchAll(/```sql\n((?:SELECT|WITH)\b[^`]*)```/g), ([, sql = '']) => sql);
  expect(documented.length).toBeGreaterThan(26);
  const columns = readCatalogue({ provider: 'postgresql' }).map(
    (table) => `SELECT ${table.columns.map(({ name }) => `t.${name}`).join()} FROM ${table.name} AS t`,
  );
  await reader.visit(30_000, async (read) => {
    for (const sql of [
      ...columns,
      ...documented,
      ...readExamples(Date.now())
        .flatMap(({ examples }) => examples)
        .map((example) => example.sql),
      'SELECT c.*, (c).id, c.status, "c"."status" FROM conversations c WHERE c.id = .5::text',
      'SELECT x.inbox_count, x.day_of_week, x."Größe" FROM (SELECT 1 AS inbox_count) x',
      'SELECT x.count, x.max, x.date FROM (SELECT 1.5e3 AS count, 0x1F AS max, 1e-3 AS date) x',
      `SELECT x.größe FROM (SELECT 1 AS größe) x -- größer €?\n WHERE '€' = '€'`,
    ])
      await expect(refuseCalledFields(read, onlyReading(sql)), sql).resolves.toBeUndefined();
  });
});

test('a column of the mirror has the name of a function only if that converts a value', async () => {
  const names = readCatalogue({ provider: 'postgresql' }).flatMap(({ name, columns }) => [
    name,
    ...columns.map((column) => column.name),
  ]);
  const client = await connected(await freshMirrorFile());
  const { rows } = await client.query<{ proname: string }>(
    `SELECT DISTINCT proname FROM pg_proc WHERE pronargs >= 1 AND pronargs - pronargdefaults <= 1
       AND proname = ANY ($1::text[]) ORDER BY proname`,
    [names],
  );
  expect([...CONVERTING].toSorted()).toEqual(rows.map(({ proname }) => proname));
  const effects = await client.query(
    `SELECT proname FROM pg_proc WHERE proname = ANY ($1::text[]) AND provolatile = 'v'`,
    [[...CONVERTING]],
  );
  expect(effects.rows).toEqual([]);
});

const ENDLESS = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`;

test('a statement that has lifted its limits does not run on after its visit', async () => {
  const url = await freshMirrorFile();
  const client = await connected(url);
  const running = async (): Promise<number> => {
    const { rows } = await client.query<{ running: number }>(
      `SELECT count(*)::integer AS running FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'WITH RECURSIVE%'`,
    );
    return rows[0]?.running ?? 0;
  };
  onTestFinished(() =>
    onServer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE 'WITH RECURSIVE%'`,
      url,
    ),
  );
  const reader = openBounded(url);
  const bounds = { rows: 1, characters: 1000 };
  const visit = reader.visit(300, async (read) => {
    const limit = await read(`SELECT current_setting('statement_timeout')`, [], bounds);
    expect(limit.rows).toEqual([['1300ms']]);
    for (const setting of ['statement_timeout', 'client_connection_check_interval'])
      await read(`SELECT set_config('${setting}', '0', false)`, [], bounds);
    await read(ENDLESS, [], bounds);
  });
  await expect(visit).rejects.toThrow('was stopped');
  await reader.close();
  await expect.poll(running).toBe(0);
});

/** Selects `cell`, in which `s` is a text of `length` characters: a multiple of 5,242,880. */
function withLongText(length: number, cell: string): string {
  const characters = 10 * 2 ** 19;
  return `
    WITH RECURSIVE r(n, s) AS (SELECT 1, 'xxxxxxxxxx' UNION ALL SELECT n + 1, s || s FROM r WHERE n < 20),
      long AS (SELECT replace(s, 'x', '${'y'.repeat(length / characters)}') AS s FROM r WHERE n = 20)
    SELECT ${cell} AS cell FROM long`;
}

test('a row longer than any string is refused before it is received, and the next question is answered', async () => {
  const questions = openQuestions(await freshMirrorFile(), 50_000);
  onTestFinished(() => questions.close());
  const { signal } = new AbortController();
  const before = process.resourceUsage().maxRSS;
  await expect(questions.ask(withLongText(576_716_800, 's'), 10, signal)).rejects.toMatchObject({
    code: 'USAGE',
    message:
      'A row of the answer has 576,716,810 bytes, and at most 16,000,000 are allowed here. ' +
      'Ask for fewer columns, or for substr(…) of the long one.',
  });
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(300 * 1024);
  expect((await questions.ask('SELECT 1 AS one', 10, signal)).rows).toEqual([[1]]);
});

test('an error of the server that repeats a long value is refused, and the next question is answered', async () => {
  const questions = openQuestions(await freshMirrorFile(), 50_000);
  onTestFinished(() => questions.close());
  const { signal } = new AbortController();
  const repeated = withLongText(31_457_280, 'CAST(s AS integer)');
  await expect(questions.ask(repeated, 10, signal)).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringMatching(/^The database answered with an error or a notice of 31,457,\d\d\d bytes/),
  });
  expect((await questions.ask('SELECT 1 AS one', 10, signal)).rows).toEqual([[1]]);
});
