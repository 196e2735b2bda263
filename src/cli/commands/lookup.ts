import type { Command } from 'commander';
import { EXIT } from '../../core/errors.ts';
import { plural } from '../../core/humanize.ts';
import { parseExact } from '../../core/json.ts';
import { type ColumnKind, COLUMNS, type Item } from '../../core/lists.ts';
import { asCell, type Io, printJson, printLine, printWarning } from '../../session/terminal.ts';
import { inboxIdOf } from '../inbox.ts';
import { inboxOption, jsonOption, notEmpty, type Runner } from '../options.ts';

interface LookupOptions {
  readonly inbox: string;
  readonly json?: boolean;
}

export function addLookup(program: Command, run: Runner): void {
  const lookup = program
    .command('lookup')
    .summary('search the service for a user or a tag')
    .description('Sends one search request to the service. Does not change the mirror.');
  lookup
    .command('user')
    .description('Finds a user of an inbox by e-mail address.')
    .addOption(inboxOption('the inbox to search: its id or its name').makeOptionMandatory())
    .requiredOption('--email <address>', 'the whole e-mail address', notEmpty)
    .addOption(jsonOption())
    .action(({ inbox, email, json = false }: LookupOptions & { readonly email: string }) =>
      run((io) => printMatches(io, { list: 'users', inbox, term: email, json })),
    );
  lookup
    .command('tag')
    .description('Finds tags of an inbox by name. The service decides whether a part of the name is enough.')
    .addOption(inboxOption('the inbox to search: its id or its name').makeOptionMandatory())
    .requiredOption('--name <name>', 'the name to search for', notEmpty)
    .addOption(jsonOption())
    .action(({ inbox, name, json = false }: LookupOptions & { readonly name: string }) =>
      run((io) => printMatches(io, { list: 'tags', inbox, term: name, json })),
    );
}

interface Lookup {
  readonly list: 'users' | 'tags';
  /** The inbox's id or name. */
  readonly inbox: string;
  /** E-mail address of a user, name of a tag. */
  readonly term: string;
  readonly json: boolean;
}

async function printMatches(io: Io, { list, inbox, term, json }: Lookup): Promise<number> {
  const { withSession } = await import('../../session/session.ts');
  return await withSession(io, async ({ client, config, mirror }) => {
    for (const sentence of config.warnings) printWarning(io.stderr, sentence);
    const inboxId = await inboxIdOf(inbox, await mirror.inboxes());
    const options = { reason: 'manual', signal: io.signal } as const;
    const { items, complete } = await client.search({ list, inboxId }, term, options);
    if (json) printJson(io.stdout, asJson(items));
    else printLine(io.stdout, await asTable(io, list, items));
    if (!complete)
      printWarning(io.stderr, 'there may be more: the answer has further pages, or unreadable rows.');
    return EXIT.done;
  });
}

function asJson(items: readonly Item[]): string {
  return JSON.stringify(
    items.map(({ raw }) => parseExact(raw)),
    null,
    2,
  );
}

/** An instant as a search returns it. */
const INSTANT = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z$/;

async function asTable(io: Io, list: Lookup['list'], items: readonly Item[]): Promise<string> {
  const count = plural(items.length, list === 'users' ? 'user' : 'tag');
  if (items.length === 0) return `(${count})`;
  const kinds = Object.entries<ColumnKind>(COLUMNS[list]);
  // As in a table of `query`: on a terminal an instant loses its milliseconds and zone.
  const isShort = io.stdout.isTTY === true && kinds.some(([, kind]) => kind === 'instant');
  const shown = (text: string, kind: ColumnKind): string =>
    isShort && kind === 'instant' ? text.replace(INSTANT, '$1 $2') : text;
  const titles = ['id', ...kinds.map(([name]) => name)].map((title) => ({ title }));
  const rows = items.map(({ id, columns }) => [
    id,
    ...kinds.map(([name, kind]) => shown(asCell(String(columns[name] ?? '')), kind)),
  ]);
  const { renderTable } = await import('../output/table.ts');
  return `${renderTable(io.stdout, titles, rows)}\n(${count}${isShort ? '; times in UTC' : ''})`;
}
