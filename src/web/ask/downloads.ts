import type { FastifyInstance } from 'fastify';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { asJson, asText, csvOf, withoutFormula } from '../../query/cells.ts';
import type { BoundedRows } from '../../query/reads/bounded.ts';
import type { Questions } from '../../query/reads/question.ts';
import { sendText, whenClosed } from '../frame/answer.ts';

/** A download has at most this many rows. */
const MOST_ROWS = 100_000;

const FORMS = {
  csv: { type: 'text/csv; charset=utf-8', textOf: asCsv },
  json: { type: 'application/json; charset=utf-8', textOf: asJsonText },
} as const;

/** Adds `GET /ask.csv?sql=` and `/ask.json?sql=`: an answer as a file. Wrong SQL is a 400. */
export function addDownloads(inside: FastifyInstance, questions: Questions): void {
  for (const [format, { type, textOf }] of Object.entries(FORMS))
    inside.get(`/ask.${format}`, async (request, reply) => {
      const sql = new URLSearchParams(request.url.split('?')[1] ?? '').get('sql') ?? '';
      try {
        const answer = await questions.ask(sql, MOST_ROWS, whenClosed(reply));
        const name = `attachment; filename="answer.${format}"`;
        return await sendText(request, reply.type(type).header('content-disposition', name), textOf(answer));
      } catch (error) {
        if (!isMirrorError(error, 'USAGE')) throw error;
        return await reply.code(400).send({ error: error.message });
      }
    });
}

function asCsv({ columns, rows }: BoundedRows): string {
  const cells = rows.map((row) => row.map((cell) => (cell === null ? null : withoutFormula(asText(cell)))));
  return csvOf([columns.map(({ name }) => withoutFormula(name)), ...cells]);
}

/** @throws MirrorError `USAGE` if two columns have one name: an object can hold only one of them */
function asJsonText({ columns, rows }: BoundedRows): string {
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw new MirrorError(
      'USAGE',
      `Two columns are named ${JSON.stringify(twice)}, and an object can hold only one. Rename one with AS.`,
    );
  const keys = names.map((name) => `${JSON.stringify(name)}:`);
  const objects = rows.map((row) => {
    const fields = columns.map(
      ({ isJson }, index) => keys[index] + JSON.stringify(asJson(row[index] ?? null, isJson)),
    );
    return `{${fields.join(',')}}`;
  });
  return `[${objects.join(',\n')}]\n`;
}
