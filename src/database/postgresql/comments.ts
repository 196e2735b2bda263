import { type CatalogueEntry, describeColumn } from '../columns.ts';

/**
 * One statement that comments each table and view and each of their columns, for psql's `\d+` and programs
 * that show descriptions.
 */
export function commentsSql(catalogue: readonly CatalogueEntry[]): string {
  const comments = catalogue.flatMap((entry) => [
    `COMMENT ON ${entry.kind.toUpperCase()} "${entry.name}" IS ${quoted(sentencesOf(entry))}`,
    ...entry.columns.map(
      (column) =>
        `COMMENT ON COLUMN "${entry.name}"."${column.name}" IS ${quoted(describeColumn(entry, column))}`,
    ),
  ]);
  return `DO $comments$ BEGIN\n${comments.map((comment) => `${comment};\n`).join('')}END $comments$`;
}

function sentencesOf({ sentence, key }: CatalogueEntry): string {
  return key.length === 0 ? sentence : `${sentence} Key: ${key.map((column) => `\`${column}\``).join(', ')}.`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
