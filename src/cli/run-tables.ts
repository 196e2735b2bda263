import { TABLE_SENTENCES, VIEW_SENTENCES } from '../store/catalogue.ts';
import { openReadOnly } from '../store/read-only.ts';
import { EXIT } from './exit-codes.ts';
import { type Io, paint, printLine } from './io.ts';
import { wrapped } from './wrap.ts';
import { readerConfig } from './reader-config.ts';

interface Described {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly description: string;
  readonly columns: readonly string[];
}

/** Prints tables and views as they stand in this mirror. What the program does not know (a view of the user's own) has no sentence. @returns the exit code */
export async function listTables(io: Io, { json }: { json: boolean }): Promise<number> {
  const config = readerConfig(io);
  const described = await describe(config.databaseUrl);
  if (json) printLine(io.stdout, JSON.stringify(described, null, 2));
  else for (const one of described) printLine(io.stdout, asText(io, one));
  return EXIT.done;
}

async function describe(url: string): Promise<Described[]> {
  const mirror = await openReadOnly(url);
  const columns = new Map<string, string[]>();
  const kinds = new Map<string, Described['kind']>();
  try {
    const { rows } = await mirror.query(mirror.dialect.allColumns);
    for await (const [name, kind, column] of rows) {
      kinds.set(String(name), kind === 'view' ? 'view' : 'table');
      columns.set(String(name), [...(columns.get(String(name)) ?? []), String(column)]);
    }
  } finally {
    await mirror.close();
  }
  const sentences = { ...TABLE_SENTENCES, ...VIEW_SENTENCES };
  const own = [...columns.keys()].filter((name) => !(name in sentences) && !/^(sqlite_|_prisma_)/.test(name));
  return [...Object.keys(sentences), ...own]
    .filter((name) => columns.has(name))
    .map((name) => ({
      name,
      kind: kinds.get(name) ?? 'table',
      description: sentences[name] ?? '',
      columns: columns.get(name) ?? [],
    }));
}

function asText(io: Io, { name, kind, description, columns }: Described): string {
  const title = `${paint(io.stdout, 'bold', name)}${kind === 'view' ? ' (view)' : ''}`;
  return `${wrapped(io.stdout, `${title}  ${description}`)}\n${wrapped(io.stdout, `    ${columns.join(', ')}`, 4)}\n`;
}
