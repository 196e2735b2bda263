import { diff, type Known } from '../../core/diff.ts';
import { COLUMNS, type Item, type ListKey, type Value } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { type Change, sightingsBeforeLoss, writeChanges } from '../history/write.ts';
import { lastSightings } from './sightings.ts';
import { type ItemSql, itemSql } from './statements.ts';
import { readTags, writeTags } from './tags.ts';

/** How many rows of a page were new, and how many differed from what was known. */
export interface Applied {
  readonly inserted: number;
  readonly changed: number;
}

/** The sweep that a page belongs to, as far as applying it goes. */
export interface ApplyContext extends ListKey {
  readonly sweepId: number;
  /** The first sweep of a list sets the baseline and writes no changes. */
  readonly baseline: boolean;
  /** When the items were seen, ISO 8601. */
  readonly observedAt: string;
  /** The page they are on, where they are on one. */
  readonly pageNo: number | null;
}

interface Glance {
  id: string;
  content_hash: string;
  changed_at: Date;
  deleted_at: Date | null;
  missing_since: Date | null;
}

/** Writes what is new or different of the items, with one statement per table, and their changes. What is unchanged is not written. */
export async function applyItems(
  tx: Sql,
  dialect: Dialect,
  context: ApplyContext,
  items: readonly Item[],
): Promise<Applied> {
  const sql = itemSql(context.list, dialect);
  // A row may come twice on a page that moved under the walk; the later one is the newer.
  const latest = new Map(items.map((item) => [item.id, item]));
  const glances = await tx.query<Glance>(sql.glance, context.inboxId, JSON.stringify([...latest.keys()]));
  const known = new Map(glances.map((glance) => [glance.id, glance]));

  const written = [...latest.values()].filter((item) => {
    const row = known.get(item.id);
    return row === undefined || row.content_hash !== item.hash || row.deleted_at !== null;
  });
  const reappeared = [...latest.keys()].filter((id) => {
    const row = known.get(id);
    return row?.missing_since !== null && row?.deleted_at === null;
  });
  if (reappeared.length > 0) await tx.execute(sql.clear, context.inboxId, JSON.stringify(reappeared));
  if (written.length === 0) return { inserted: 0, changed: 0 };

  const before = await readKnown(tx, dialect, sql, context, written, known);
  const rows = written.map(({ id, columns, raw, hash }) => ({ id, ...columns, raw, content_hash: hash }));
  await tx.execute(sql.upsert, context.inboxId, JSON.stringify(rows), context.observedAt);
  if (context.list === 'conversations') await writeTags(tx, dialect, context, written, before);
  if (context.list === 'inboxes') await restoreCovered(tx, known);
  if (!context.baseline) await recordChanges(tx, dialect, context, written, before, known);
  return { inserted: written.length - before.size, changed: before.size };
}

/** The full rows of what is about to be overwritten. */
async function readKnown(
  tx: Sql,
  dialect: Dialect,
  sql: ItemSql,
  { list, inboxId }: ListKey,
  written: readonly Item[],
  glances: ReadonlyMap<string, Glance>,
): Promise<Map<string, Known>> {
  const ids = JSON.stringify(written.filter(({ id }) => glances.has(id)).map(({ id }) => id));
  if (ids === '[]') return new Map();
  const rows = await tx.query<{ id: string } & Record<string, unknown>>(sql.columns, inboxId, ids);
  const tags = list === 'conversations' ? await readTags(tx, dialect, inboxId, ids) : null;
  return new Map(
    rows.map((row) => [
      row.id,
      {
        columns: Object.fromEntries(
          Object.keys(COLUMNS[list]).map((column) => [column, asValue(row[column])]),
        ),
        tags: tags === null ? null : (tags.get(row.id) ?? []),
        deleted: glances.get(row.id)?.deleted_at !== null,
      },
    ]),
  );
}

function asValue(value: unknown): Value {
  return value instanceof Date ? value.toISOString() : (value as Value);
}

/** The tables whose rows an inbox's tombstone covers. */
export const COVERED_TABLES = ['inbox_users', 'inbox_tags', 'conversations'] as const;

/** An inbox that comes back brings the rows that went with it; what was gone before stays gone. */
async function restoreCovered(tx: Sql, glances: ReadonlyMap<string, Glance>): Promise<void> {
  for (const { id, deleted_at } of glances.values()) {
    if (deleted_at === null) continue;
    for (const table of COVERED_TABLES) {
      await tx.execute(
        `UPDATE ${table} SET deleted_at = NULL WHERE inbox_id = $1 AND deleted_at = $2`,
        id,
        deleted_at.toISOString(),
      );
    }
  }
}

async function recordChanges(
  tx: Sql,
  dialect: Dialect,
  context: ApplyContext,
  written: readonly Item[],
  before: ReadonlyMap<string, Known>,
  glances: ReadonlyMap<string, Glance>,
): Promise<void> {
  const found = written.map((item) => ({
    id: item.id,
    known: before.get(item.id),
    differences: diff(context.list, before.get(item.id), item),
  }));
  const differing = found.filter(({ differences, known }) => differences.length > 0 && known !== undefined);
  const returned = differing.filter(({ known }) => known?.deleted).map(({ id }) => id);
  const stayed = differing.filter(({ known }) => !known?.deleted).map(({ id }) => id);
  const seen = new Map([
    ...(await lastSightings(tx, dialect, context, stayed, context.pageNo)),
    ...(await sightingsBeforeLoss(tx, dialect, context, returned)),
  ]);
  // What a sweep that did not complete saw is a sighting too, and where it differed it left its time on the row.
  for (const id of stayed) {
    const changedAt = glances.get(id)?.changed_at.toISOString();
    if (changedAt !== undefined && changedAt > (seen.get(id) ?? '')) seen.set(id, changedAt);
  }
  const changes = found.flatMap(({ id, differences }) =>
    differences.map((difference): Change => ({
      ...difference,
      itemId: id,
      previouslySeenAt: seen.get(id) ?? null,
    })),
  );
  await writeChanges(tx, dialect, context, changes, context);
}
