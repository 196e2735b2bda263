import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { thousands } from '../../core/humanize.ts';
import { asText, csvOf, objectWriter, uniqueNames, withoutFormula } from '../../query/cells.ts';
import type { BoundedRows } from '../../query/reads/bounded.ts';
import { MOST_CHARACTERS, type Questions } from '../../query/reads/question.ts';
import type { Cell } from '../../query/result.ts';
import { sendText, whenClosed } from '../frame/answer.ts';
import { queryOf } from '../frame/links.ts';

/** A download has at most this many rows. */
const MOST_ROWS = 100_000;

/** This many cells are written at once; then the daemon's other work gets its turn. */
const WRITTEN_AT_ONCE = 10_000;

/** A text file has at most this many characters: the daemon holds it whole. */
const MOST_WRITTEN = 32 * 1024 * 1024;

/** At most this many files are made or sent at a time. */
const MOST_AT_ONCE = 4;

/** The forms of a download. */
export const FORMS = {
  csv: { name: 'CSV', type: 'text/csv; charset=utf-8', contentOf: asCsv },
  json: { name: 'JSON', type: 'application/json; charset=utf-8', contentOf: asJsonText },
  parquet: { name: 'Parquet', type: 'application/vnd.apache.parquet', contentOf: asParquet },
} as const;

const ROWS = `${thousands(MOST_ROWS)} rows`;
const VALUES = `${megabytes(MOST_CHARACTERS)} of values`;

/** The limits of a file, for people. */
export const LIMITS = `at most ${ROWS} and ${VALUES}; CSV and JSON at most ${megabytes(MOST_WRITTEN)}`;

const COMMANDS =
  '`inbox-mirror query --format csv` (or `--json`) prints all rows, and `inbox-mirror export` writes whole ' +
  'tables and views.';

const BUSY = `${MOST_AT_ONCE} files are being downloaded now. Try again in some seconds.`;

/**
 * Adds `GET /ask.csv?sql=`, `/ask.json` and `/ask.parquet`: an answer as a file. Wrong SQL and an answer
 * beyond the limits are a 400, too many downloads a 503.
 */
export function addDownloads(inside: FastifyInstance, questions: Questions): void {
  let underWay = 0;
  for (const [format, { type, contentOf }] of Object.entries(FORMS))
    inside.get(`/ask.${format}`, async (request, reply) => {
      const sql = queryOf(request).get('sql') ?? '';
      if (underWay === MOST_AT_ONCE) return await reply.code(503).send({ error: BUSY });
      underWay += 1;
      // Until the last byte has left, or the person.
      reply.raw.once('close', () => (underWay -= 1));
      const closed = whenClosed(reply);
      try {
        const answer = await questions.ask(sql, MOST_ROWS, closed);
        if (!answer.complete) throw tooMuch(answer);
        const name = `attachment; filename="answer.${format}"`;
        const content = await contentOf(answer);
        return await sendText(request, reply.type(type).header('content-disposition', name), content);
      } catch (error) {
        // The person has left: no answer is awaited.
        if (closed.aborted) return reply.hijack();
        if (!isMirrorError(error, 'USAGE')) throw error;
        return await reply.code(400).send({ error: error.message });
      }
    });
}

async function asCsv({ columns, rows }: BoundedRows): Promise<string> {
  const head = csvOf([columns.map(({ name }) => withoutFormula(name))]);
  const cell = (value: Cell): string | null => (value === null ? null : withoutFormula(asText(value)));
  return head + (await written(rows, (some) => csvOf(some.map((row) => row.map(cell))))).join('');
}

/** @throws MirrorError `USAGE` if two columns have one name: an object can hold only one of them */
async function asJsonText({ columns, rows }: BoundedRows): Promise<string> {
  const object = objectWriter(columns);
  return `[${(await written(rows, (some) => some.map(object).join(',\n'))).join(',\n')}]\n`;
}

/** @throws MirrorError `USAGE` if two columns have one name: a reader could not tell them apart */
async function asParquet(answer: BoundedRows): Promise<Buffer> {
  uniqueNames(answer.columns, 'a Parquet file');
  const { parquetOf } = await import('../../export/answer.ts');
  return await parquetOf(answer);
}

/** @throws MirrorError `USAGE` if the texts are too long together */
async function written(rows: Cell[][], write: (some: Cell[][]) => string): Promise<string[]> {
  const parts: string[] = [];
  let characters = 0;
  const step = Math.max(1, Math.floor(WRITTEN_AT_ONCE / (rows[0]?.length ?? 1)));
  for (let from = 0; from < rows.length; from += step) {
    const part = write(rows.slice(from, from + step));
    characters += part.length;
    if (characters > MOST_WRITTEN) throw tooLarge();
    parts.push(part);
    await turn();
  }
  return parts;
}

/** A file that lacks rows would give false sums. */
function tooMuch({ rows }: BoundedRows): MirrorError {
  const [limit, less] = rows.length === MOST_ROWS ? [ROWS, 'rows'] : [VALUES, 'rows or columns'];
  return new MirrorError(
    'USAGE',
    `The answer has more than ${limit}, and a file here cannot hold them. Ask for fewer ${less}. ${COMMANDS}`,
  );
}

function tooLarge(): MirrorError {
  return new MirrorError(
    'USAGE',
    `The file would have more than ${megabytes(MOST_WRITTEN)}. Ask for fewer rows or columns, or download ` +
      `Parquet. ${COMMANDS}`,
  );
}

function megabytes(characters: number): string {
  return `${characters / 1024 / 1024} MB`;
}
