import { changesIn, diff, type Known } from '../../core/diff.ts';
import { COLUMNS, type Item, type ListKey, type Value } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { forgetDay } from '../history/days/forget.ts';
import { beginInbox } from '../history/intervals/absences.ts';
import { findTurned, writeIntervals } from '../history/intervals/write.ts';
import { type Change, writeChanges } from '../history/write.ts';
import type { FencedSql } from '../lease.ts';
import { lastSightings, sightingsBeforeLoss } from './sightings.ts';
import { type ItemSql, itemSql, type KnownRow } from './statements.ts';
import { readTags, writeTags } from './tags.ts';
import { restoreCovered } from './tombstones.ts';
import { findUnknown, type UnknownIds } from './unknown.ts';

/** How many of the given items were new, and how many differed from their stored rows. */
export interface ItemCounts {
  readonly inserted: number;
  readonly changed: number;
}

/** The items that were written. */
export interface AppliedItems extends ItemCounts {
  /** How many changes each of them shows, by id ({@link changesIn}); empty for a baseline. */
  readonly changes: ReadonlyMap<string, number>;
  /** The users and tags that they name and that the mirror has never had; empty for a baseline. */
  readonly unknown: UnknownIds;
}

/** The sweep and the page that items come from. */
export interface ApplyContext extends ListKey {
  readonly sweepId: number;
  /** The first sweep of a list sets the baseline and writes no changes. */
  readonly baseline: boolean;
  /** When the items were seen, in the stored form (`iso`). */
  readonly observedAt: string;
  /** The page they are on; null for a suspect that the service was asked for. */
  readonly pageNo: number | null;
}

/** Writes the items that are new or different, with one statement per table, and their changes. */
export async function applyItems(
  tx: FencedSql,
  dialect: Dialect,
  context: ApplyContext,
  items: readonly Item[],
): Promise<AppliedItems> {
  const sql = itemSql(context.list, dialect);
  // A list that shifts during the walk can repeat an item on a page. The later copy is the newer.
  const latest = new Map(items.map((item) => [item.id, item]));
  const stored = await tx.query<KnownRow>(sql.knownRows, context.inboxId, JSON.stringify([...latest.keys()]));
  const knownRows = new Map(stored.map((row) => [row.id, row]));

  const written = [...latest.values()].filter((item) => {
    const row = knownRows.get(item.id);
    return row === undefined || row.content_hash !== item.hash || row.deleted_at !== null;
  });
  const reappeared = [...latest.keys()].filter((id) => {
    const row = knownRows.get(id);
    return row?.missing_since !== null && row?.deleted_at === null;
  });
  if (reappeared.length > 0) await tx.execute(sql.clear, context.inboxId, JSON.stringify(reappeared));
  if (written.length === 0) return { inserted: 0, changed: 0, changes: new Map(), unknown: new Map() };
  await forgetDay(tx, context.observedAt);

  const before = await readKnown(tx, dialect, sql, context, written, knownRows);
  const seen = written.map((item) => ({ item, known: before.get(item.id) }));
  const turned = await findTurned(tx, dialect, context, context.list === 'conversations' ? seen : []);
  const rows = written.map(({ id, columns, raw, hash }) => ({ id, ...columns, raw, content_hash: hash }));
  await tx.execute(sql.upsert, context.inboxId, JSON.stringify(rows), context.observedAt);
  if (context.list === 'conversations') await writeTags(tx, dialect, context, written, before);
  if (context.list === 'inboxes') await restoreCovered(tx, knownRows);
  const { sightings, changes } = context.baseline
    ? { sightings: new Map<string, string>(), changes: new Map<string, number>() }
    : await recordChanges(tx, dialect, context, written, before, knownRows);
  await writeIntervals(tx, dialect, context, turned, sightings);
  if (context.list === 'inboxes')
    for (const { id } of written)
      if (before.get(id)?.deleted) await beginInbox(tx, dialect, id, context.observedAt);
  const unknown: UnknownIds =
    context.list === 'conversations' && !context.baseline
      ? await findUnknown(tx, dialect, context.inboxId, written)
      : new Map();
  return { inserted: written.length - before.size, changed: before.size, changes, unknown };
}

/** Reads the full rows that are about to be overwritten, by id. */
async function readKnown(
  tx: Sql,
  dialect: Dialect,
  sql: ItemSql,
  { list, inboxId }: ListKey,
  written: readonly Item[],
  knownRows: ReadonlyMap<string, KnownRow>,
): Promise<Map<string, Known>> {
  const ids = JSON.stringify(written.filter(({ id }) => knownRows.has(id)).map(({ id }) => id));
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
        deleted: knownRows.get(row.id)?.deleted_at !== null,
      },
    ]),
  );
}

function asValue(value: unknown): Value {
  return value instanceof Date ? value.toISOString() : (value as Value);
}

/** @returns by id: when each changed item was last seen before, ISO 8601, and how many changes each shows */
async function recordChanges(
  tx: FencedSql,
  dialect: Dialect,
  context: ApplyContext,
  written: readonly Item[],
  before: ReadonlyMap<string, Known>,
  knownRows: ReadonlyMap<string, KnownRow>,
): Promise<{ sightings: Map<string, string>; changes: Map<string, number> }> {
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
  // The row's last change is a sighting, even if the page that brought it is no longer stored. One that lies
  // ahead was dated by a clock that was set back since: the time of the page has moved with the clock.
  for (const id of stayed) {
    const changedAt = knownRows.get(id)?.changed_at.toISOString();
    const sightedAt = seen.get(id);
    if (changedAt === undefined || (sightedAt !== undefined && changedAt > context.observedAt)) continue;
    if (changedAt > (sightedAt ?? '')) seen.set(id, changedAt);
  }
  const rows = found.flatMap(({ id, differences }) =>
    differences.map((difference): Change => ({
      ...difference,
      itemId: id,
      previouslySeenAt: seen.get(id) ?? null,
    })),
  );
  await writeChanges(tx, dialect, context, rows, context);
  const changes = new Map(found.map(({ id, differences }) => [id, changesIn(differences)]));
  return { sightings: seen, changes };
}
