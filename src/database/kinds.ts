import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dialect } from './dialect.ts';

/** Two folders up from src/database, and from dist/database. */
const FOLDER = join(import.meta.dirname, '../../prisma');

/** The kind of values in a column of the mirror. A `day` is read as a text such as `2026-03-02`. */
export type ValueKind = 'text' | 'integer' | 'number' | 'boolean' | 'instant' | 'day' | 'json';

const KINDS: Readonly<Record<string, ValueKind>> = {
  String: 'text',
  Int: 'integer',
  Float: 'number',
  Boolean: 'boolean',
  DateTime: 'instant',
  Json: 'json',
};

/** The kinds of the columns of each table and view, from the schema in the package. */
export function valueKinds({
  provider,
}: Pick<Dialect, 'provider'>): ReadonlyMap<string, ReadonlyMap<string, ValueKind>> {
  const schema = readFileSync(join(FOLDER, provider, 'schema.prisma'), 'utf8');
  const blocks = schema.matchAll(/^(?:model|view) (\w+) \{\n([^}]*)^\}/gm);
  return new Map(Array.from(blocks, ([, name = '', body = '']) => [name, kindsIn(body)]));
}

function kindsIn(body: string): Map<string, ValueKind> {
  const kinds = new Map<string, ValueKind>();
  for (const [, column = '', type = ''] of body.matchAll(/^ {2}(\w+) +(\w+)\??(?= |$)/gm)) {
    const kind = KINDS[type];
    // Prisma has no type for a day without a time.
    if (kind !== undefined) kinds.set(column, column === 'day' && kind === 'text' ? 'day' : kind);
  }
  return kinds;
}
