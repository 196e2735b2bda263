import { EXIT } from '../../core/errors.ts';
import { describe, type Described } from '../../query/tables.ts';
import { readerConfig } from '../../session/reader.ts';
import { type Io, paint, printLine, wrapped } from '../../session/terminal.ts';

/** Prints tables and views as they stand in this mirror. What the program does not know (a view of the user's own) has no sentence. @returns the exit code */
export async function listTables(io: Io, { json }: { json: boolean }): Promise<number> {
  const config = readerConfig(io);
  const described = await describe(config.databaseUrl);
  if (json) printLine(io.stdout, JSON.stringify(described, null, 2));
  else for (const one of described) printLine(io.stdout, asText(io, one));
  return EXIT.done;
}

function asText(io: Io, { name, kind, description, columns }: Described): string {
  const title = `${paint(io.stdout, 'bold', name)}${kind === 'view' ? ' (view)' : ''}`;
  return `${wrapped(io.stdout, `${title}  ${description}`)}\n${wrapped(io.stdout, `    ${columns.join(', ')}`, 4)}\n`;
}
