import { EXIT } from '../../core/errors.ts';
import { plural } from '../../core/humanize.ts';
import { parseExact } from '../../core/json.ts';
import { COLUMNS, type Item } from '../../core/lists.ts';
import { type Session, withSession } from '../../session/session.ts';
import { type Io, printLine } from '../../session/terminal.ts';
import { renderTable } from '../output/table.ts';

export interface Lookup {
  readonly list: 'users' | 'tags';
  readonly inboxId: string;
  /** E-mail address of a user, name of a tag. */
  readonly by: string;
  readonly json: boolean;
}

/** Asks the service's search and prints what it found. @returns the exit code */
export async function lookUp(io: Io, lookup: Lookup): Promise<number> {
  return await withSession(io, (session) => search(io, session, lookup));
}

async function search(io: Io, { client }: Session, { list, inboxId, by, json }: Lookup): Promise<number> {
  const options = { reason: 'manual', signal: io.signal } as const;
  const { items: found, complete } = await client.search({ list, inboxId }, by, options);
  printLine(
    io.stdout,
    json
      ? JSON.stringify(
          found.map(({ raw }) => parseExact(raw)),
          null,
          2,
        )
      : asTable(io, list, found),
  );
  if (!complete)
    printLine(io.stderr, 'warning: the service has more results than it gave on the first page.');
  return EXIT.done;
}

function asTable(io: Io, list: Lookup['list'], found: readonly Item[]): string {
  const columns = ['id', ...Object.keys(COLUMNS[list])];
  const rows = found.map((item) => [
    item.id,
    ...columns.slice(1).map((column) => String(item.columns[column] ?? '')),
  ]);
  const summary = `(${plural(found.length, list === 'users' ? 'user' : 'tag')})`;
  return rows.length === 0
    ? summary
    : `${renderTable(
        io.stdout,
        columns.map((title) => ({ title })),
        rows,
      )}\n${summary}`;
}
