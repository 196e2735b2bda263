import { MirrorError } from '../../core/errors.ts';
import { type ValueKind, valueKinds } from '../../database/columns.ts';
import { nearest } from '../nearest.ts';
import type { QueryResult, ReadOnlyMirror } from '../result.ts';
import { readColumns, readRows } from './rows.ts';

export type { ValueKind } from '../../database/columns.ts';

/** A table or a view. */
export interface Relation {
  readonly name: string;
  readonly columns: readonly RelationColumn[];
}

export interface RelationColumn {
  readonly name: string;
  /** Null for a column of a table or view that is not the mirror's own. */
  readonly kind: ValueKind | null;
}

/**
 * The tables and views of these names.
 * @throws MirrorError `USAGE` for a name that does not exist
 */
export async function findRelations(mirror: ReadOnlyMirror, names: readonly string[]): Promise<Relation[]> {
  const rows = await readColumns(mirror);
  const columns = Map.groupBy(rows, ({ name }) => name);
  const kinds = valueKinds(mirror.dialect);
  return names.map((name) => {
    const found = columns.get(name);
    if (found === undefined) throw unknownRelation(name, columns.keys());
    return {
      name,
      columns: found.map(({ column_name }) => ({
        name: column_name,
        kind: kinds.get(name)?.get(column_name) ?? null,
      })),
    };
  });
}

/**
 * The error for a table or view that does not exist, with the names that it may be a misspelling of.
 * @param known all names
 */
export function unknownRelation(name: string, known: Iterable<string>): MirrorError {
  const near = nearest(name, known);
  const hint =
    near.length === 0
      ? 'Run `inbox-mirror tables` for their names.'
      : `Perhaps you meant ${near.map((one) => `"${one}"`).join(' or ')}.`;
  return new MirrorError('USAGE', `The mirror has no table or view ${JSON.stringify(name)}. ${hint}`);
}

/** Which changes: those after one id, up to another. */
export interface ChangeRange {
  readonly after: number;
  readonly upTo: number;
}

/** All rows of a table or view. `range` is for the table `changes`, whose rows then come in its order. */
export async function readRelation(
  mirror: ReadOnlyMirror,
  { name, columns }: Relation,
  range: ChangeRange | null,
): Promise<QueryResult> {
  const list = columns.map((column) => quoted(column.name)).join(', ');
  const where = range === null ? '' : ` WHERE id > ${range.after} AND id <= ${range.upTo} ORDER BY id`;
  return await mirror.query(`SELECT ${list} FROM ${quoted(name)}${where}`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The newest change: its id, 0 if there is none, and its epoch. */
export async function newestChange(mirror: ReadOnlyMirror): Promise<{ id: number; epoch: string | null }> {
  const [row] = await readRows<{ id: number | null; epoch: string | null }>(
    mirror,
    `SELECT id, (SELECT epoch FROM epochs WHERE after_id < id ORDER BY after_id DESC LIMIT 1) AS epoch
     FROM (SELECT max(id) AS id FROM changes) AS newest`,
  );
  return { id: row?.id ?? 0, epoch: row?.epoch ?? null };
}
