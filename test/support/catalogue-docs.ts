import { type CatalogueEntry, describeColumn } from '../../src/database/columns.ts';

/** The columns of a table or view as a table of Markdown. */
export function columnsTable(entry: CatalogueEntry): string {
  const rows = entry.columns.map((column) => {
    const kind = column.isOptional ? `${column.kind}, or null` : column.kind;
    return `| \`${column.name}\` | ${kind} | ${describeColumn(entry, column)} |\n`;
  });
  return `| Column | Type | Meaning |\n|---|---|---|\n${rows.join('')}`;
}

/** The part of docs/tables.md that describes a table. */
export function tableSection(entry: CatalogueEntry): string {
  const key = entry.key.map((column) => `\`${column}\``).join(', ');
  return `### \`${entry.name}\`\n\n${entry.sentence}\n\n${columnsTable(entry)}\nKey: ${key}.\n`;
}

/** The document with the sections of these tables as the catalogue has them, each in the place that it has now. */
export function withTableSections(doc: string, tables: readonly CatalogueEntry[]): string {
  return tables.reduce(
    (text, entry) =>
      text.replace(new RegExp(`^### \`${entry.name}\`\\n[^]*?^Key: .*\\n`, 'm'), () => tableSection(entry)),
    doc,
  );
}

/** The document with the columns of these views as the catalogue has them. */
export function withViewColumns(doc: string, views: readonly CatalogueEntry[]): string {
  return views.reduce(
    (text, entry) =>
      text.replace(
        new RegExp(`(^### \`${entry.name}\`\\n(?:(?!^##)[^])*?)^\\| Column .*\\n(?:\\|.*\\n)+`, 'm'),
        (_section, head: string) => head + columnsTable(entry),
      ),
    doc,
  );
}

/** The document with the table of the columns that lead to other tables. */
export function withJoins(doc: string, catalogue: readonly CatalogueEntry[]): string {
  const columns = new Map<string, Set<string>>();
  for (const { columns: from, table, to } of catalogue.flatMap(({ joins }) => joins)) {
    const target = `| \`${table}\` | ${to.map((column) => `\`${column}\``).join(', ')} |`;
    columns.set(target, (columns.get(target) ?? new Set()).add(`\`${from.at(-1)}\``));
  }
  const rows = Array.from(columns, ([target, names]) => `| ${[...names].join(', ')} ${target}\n`);
  const table = `| Columns | lead to | by |\n|---|---|---|\n${rows.join('')}`;
  return doc.replace(/(^## Joins\n[^]*?)^(?:JOINS\n|(?:\|.*\n)+)/m, (_part, head: string) => head + table);
}
