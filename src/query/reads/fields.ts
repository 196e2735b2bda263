import { nameOf, type SqlToken, tokensOf } from '../tokens.ts';
import type { BoundedRead } from './bounded.ts';
import { isAllowed, refusal } from './guard.ts';

/** Columns of the mirror that have the name of a function: on PostgreSQL these four only convert a value. */
export const CONVERTING: ReadonlySet<string> = new Set(['host', 'name', 'path', 'timezone']);

/**
 * Refuses a statement that calls a function of the PostgreSQL server by the notation of a field: there `x.f`
 * also means `f(x)`, whatever is left of the dot.
 * @throws MirrorError `USAGE`, which names the function
 */
export async function refuseCalledFields(read: BoundedRead, sql: string): Promise<void> {
  const fields = fieldsIn(tokensOf(sql));
  if (fields.size === 0) return;
  // The server cuts a longer name to the 63 bytes of the type `name`.
  const { rows } = await read(
    `SELECT value FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS fields(value)
     WHERE lower(CAST(value AS name)) IN
       (SELECT lower(proname) FROM pg_proc WHERE pronargs >= 1 AND pronargs - pronargdefaults <= 1)`,
    [JSON.stringify([...fields.keys()])],
    { rows: fields.size + 1, characters: Number.POSITIVE_INFINITY },
  );
  const [first] = rows;
  if (first !== undefined)
    throw refusal(
      `The name ${JSON.stringify(fields.get(String(first[0])))} after a dot`,
      'It is a function of the server; give the column another name with AS',
    );
}

/** The names after a dot that may be functions with effects, each as it is written. */
function fieldsIn(tokens: readonly SqlToken[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [index, token] of tokens.entries()) {
    if (tokens[index - 1]?.text !== '.' || token.text === '*' || /^\d/.test(token.text)) continue;
    const name = nameOf(token).replaceAll('""', '"');
    if (!isAllowed(name) && !CONVERTING.has(name) && !fields.has(name))
      fields.set(name, token.text.slice(0, 40));
  }
  return fields;
}
