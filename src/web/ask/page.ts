import { isMirrorError } from '../../core/errors.ts';
import { duration, plural } from '../../core/humanize.ts';
import { type ExampleGroup, readExamples } from '../../query/figures/examples.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import { readMissing } from '../../query/figures/missing.ts';
import { asText } from '../../query/cells.ts';
import { SEE_TABLES } from '../../query/faults.ts';
import type { BoundedRows } from '../../query/reads/bounded.ts';
import type { FirstCopy } from '../../query/reads/ages.ts';
import { LONGEST_MS } from '../../query/reads/question.ts';
import type { Cell } from '../../query/result.ts';
import { describeIn, type TableDescription } from '../../query/tables.ts';
import { copyOf, noteOf } from '../frame/first-copy.ts';
import { html, type Html } from '../frame/html.ts';
import { type PageContent, section, table } from '../frame/layout.ts';
import { missingNotice, stampOf } from '../frame/stamp.ts';
import type { Visit } from '../pages.ts';
import { chartOf } from './chart.ts';
import { FORMS, LIMITS } from './downloads.ts';
import { endingLimit } from './limit.ts';

/** The page shows at most this many cells. */
const MOST_CELLS = 10_000;

/** A page shows at most this many rows, and this many characters of a cell. A download has all. */
const MOST_ROWS = 200;
const MOST_CHARACTERS = 300;

/** `/ask`: the answer to a person's SQL, with questions, views and tables. */
export async function askPage({ desk, moment, query, ask }: Visit): Promise<PageContent> {
  const sql = query.get('sql') ?? '';
  const { lists, missing, tables } = await desk.quick('ask', async (read, mirror) => ({
    lists: await readFreshness(read),
    missing: await readMissing(read),
    tables: await describeIn(mirror),
  }));
  const answer = sql.trim() === '' ? NO_QUESTION : await answered(sql, ask, copyOf(lists));
  return {
    title: 'Ask',
    active: '/ask',
    stamp: stampOf(lists, moment),
    body: html`${missingNotice(missing)}
      <div class="beside">
        <div>${section('SQL', form(sql))}${answer}</div>
        <div>${section('Questions', questions(readExamples(moment.now)))}</div>
      </div>
      ${section('Views and tables', catalogue(tables), { wide: true })}`,
  };
}

const NO_QUESTION = section(
  'Answer',
  html`<p class="empty">
    Choose a question, or write one SELECT over the views and tables, and press Run. The answer appears here
    as a table, with a chart where its columns suit one, and as a file to download.
  </p>`,
);

const SEE_BELOW = 'The tables and their columns are under "Views and tables", below.';

async function answered(sql: string, ask: Visit['ask'], copy: FirstCopy | null): Promise<Html> {
  try {
    return answerSection(await ask(sql, MOST_ROWS), sql, copy);
  } catch (error) {
    // The person's SQL is wrong, or takes too long.
    if (!isMirrorError(error, 'USAGE')) throw error;
    return section('No answer', faultOf(error.message.replace(SEE_TABLES, SEE_BELOW)));
  }
}

/** Sentences, and between them the place of an error in the SQL, whose lines are indented. */
function faultOf(message: string): Html {
  const lines = message.split('\n');
  const isPlace = (line: string): boolean => line.startsWith('  ');
  const place = lines.filter(isPlace);
  const [before, after] = [
    lines.slice(0, lines.findIndex(isPlace)),
    lines.slice(lines.findLastIndex(isPlace) + 1),
  ];
  const sentences = (of: readonly string[]): Html => html`${of.map((line) => html`<p>${line}</p>`)}`;
  if (place.length === 0) return html`<div class="fault" role="alert">${sentences(lines)}</div>`;
  return html`<div class="fault" role="alert">
    ${sentences(before)}
    <pre tabindex="0">${place.join('\n')}</pre>
    ${sentences(after)}
  </div>`;
}

function form(sql: string): Html {
  return html`<form method="get" action="/ask" class="ask">
    <label for="sql">One SELECT. It can only read, and is stopped after ${duration(LONGEST_MS)}</label>
    <textarea id="sql" name="sql" rows="7" spellcheck="false" required>${sql}</textarea>
    <button>Run</button>
  </form>`;
}

function answerSection(answer: BoundedRows, sql: string, copy: FirstCopy | null): Html {
  const { columns } = answer;
  const rows = answer.rows.slice(0, Math.max(1, Math.floor(MOST_CELLS / columns.length)));
  const complete = answer.complete && rows.length === answer.rows.length;
  const numeric = columns.map((_column, index) =>
    rows.every((row) => row[index] === null || isNumber(row[index])),
  );
  const heads = columns.map(({ name }, index) => ({
    name,
    number: numeric[index] === true && rows.length > 0,
  }));
  const cells = rows.map((row) => row.map(shown));
  const address = new URLSearchParams({ sql });
  const count = complete ? countOf(rows.length, sql) : `The first ${plural(rows.length, 'row')} of more.`;
  return section(
    'Answer',
    html`<p>
        Download${!complete && ` (${LIMITS})`}:
        ${Object.entries(FORMS).map(([format, { name }], index) => {
          const href = `/ask.${format}?${String(address)}`;
          // No attribute `download`: with it, browsers show no error in place of the file.
          return html`${index > 0 && ', '}<a href="${href}">${name}</a>`;
        })}
      </p>
      ${chartOf(answer)}${table('Answer', heads, cells, 'The answer has no row.')}`,
    { note: noteOf(copy, count) },
  );
}

/** How many rows there are. If there may be more without the LIMIT of the SQL, a link leads to all. */
function countOf(rows: number, sql: string): Html | string {
  const ending = endingLimit(sql);
  if (ending === null || rows < ending.limit) return `${plural(rows, 'row')}.`;
  const href = `/ask?${String(new URLSearchParams({ sql: ending.without }))}`;
  return html`${plural(rows, 'row')}: the SQL ends with LIMIT ${rows}. <a href="${href}">Show all rows</a>.`;
}

function isNumber(cell: Cell | undefined): boolean {
  return typeof cell === 'number' || typeof cell === 'bigint';
}

function shown(cell: Cell): Html {
  if (cell === null) return html`<span class="absent">NULL</span>`;
  const text = asText(cell);
  const isLink = /^https?:\/\/\S+$/.test(text);
  const words = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
  if (isLink) return html`<a href="${text}" rel="noreferrer noopener" target="_blank">${words}</a>`;
  return html`<bdi>${words}</bdi>`;
}

/** The questions of the cookbook; those of the first who ask are open. */
function questions(groups: readonly ExampleGroup[]): Html {
  return html`${groups.map(
    ({ who, examples }, nth) =>
      html`<details class="group" ${nth === 0 && 'open'}>
        <summary>${who} <span class="note">${examples.length}</span></summary>
        <ul class="plain">
          ${examples.map(
            ({ question, sql, yours }) =>
              html`<li>
                <a href="/ask?${String(new URLSearchParams({ sql }))}">${question}</a>
                ${yours !== null && html`<span class="note">${yours}</span>`}
              </li>`,
          )}
        </ul>
      </details>`,
  )}`;
}

/** Views first: they answer the common questions. */
function catalogue(tables: readonly TableDescription[]): Html {
  const kinds = [
    ['view', 'Views', 'answer the common questions'],
    ['table', 'Tables', 'hold the rows'],
  ] as const;
  return html`${kinds.map(([kind, name, what]) => {
    const own = tables.filter((one) => one.kind === kind);
    return html`<details class="group" ${kind === 'view' && 'open'}>
      <summary>${name} <span class="note">${own.length}, which ${what}</span></summary>
      <div class="names">${own.map(described)}</div>
    </details>`;
  })}`;
}

function described({ name, description, columns }: TableDescription): Html {
  return html`<details>
    <summary><code>${name}</code></summary>
    <p class="note">${description}</p>
    <p class="fields">${columns.map((column) => html`<code>${column}</code> `)}</p>
  </details>`;
}
