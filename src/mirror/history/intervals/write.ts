import type { Known } from '../../../core/diff.ts';
import { type Item, type ListKey, statusName, type Value } from '../../../core/lists.ts';
import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import { iso } from '../../../database/instants.ts';
import { INTERVAL_KINDS, type IntervalKind, INTERVALS } from '../../../database/views/definitions.ts';
import { beginAppeared } from './begin.ts';
import { byConversation, computeIntervals, idsScope } from './compute.ts';
import { isLatest } from './latest.ts';

/** A conversation of a page, as it is and as it was. */
interface SeenConversation {
  readonly item: Item;
  /** The stored state before the page; undefined for a new conversation. */
  readonly known: Known | undefined;
}

/** A conversation that had a stored state before the page. */
interface KnownConversation extends SeenConversation {
  readonly known: Known;
}

/** The conversations of a page that begin or end intervals. */
export interface Turned {
  /** The ids of the new ones: all their intervals begin now. */
  readonly appeared: readonly string[];
  /** Where a value differs, the open interval ends now, and another begins now. */
  readonly changed: readonly KnownConversation[];
  /** The ids of those whose intervals must be computed. */
  readonly others: readonly string[];
}

/** The sweep and the instant at which conversations were seen. */
export interface SightingContext extends ListKey {
  readonly sweepId: number;
  readonly baseline: boolean;
  /** In the stored form (`iso`). */
  readonly observedAt: string;
}

/** An interval that begins with a page. */
interface Begun {
  readonly id: string;
  readonly value: string | null;
  /** The value of the interval that ends with the page; null for a tag. */
  readonly before: string | null;
  readonly from_earliest: string | null;
}

/** The intervals that a page begins, and those that it ends: a conversation with its value. */
interface Edges {
  readonly begun: Begun[];
  readonly ended: { readonly id: string; readonly value: string | null }[];
}

/**
 * Finds the conversations whose intervals a page begins or ends, before the page is written. If one is new
 * or has changed, its open intervals end now and others begin. The exceptions: time ran backwards, the
 * conversation or its inbox is gone or returns, or a first sweep sees it again.
 */
export async function findTurned(
  tx: Sql,
  dialect: Dialect,
  context: SightingContext,
  seen: readonly SeenConversation[],
): Promise<Turned> {
  const turned = seen.filter(isTurned);
  const known = turned.filter(isKnown);
  const ids = turned.map(({ item }) => item.id);
  if (ids.length === 0) return { appeared: [], changed: [], others: [] };
  const knownIds = known.map(({ item }) => item.id);
  if (!(await isLatest(tx, dialect, context, knownIds))) return { appeared: [], changed: [], others: ids };
  const changed = context.baseline ? [] : known.filter((one) => !one.known.deleted);
  const others = context.baseline ? known : known.filter((one) => one.known.deleted);
  return {
    appeared: turned.filter((one) => !isKnown(one)).map(({ item }) => item.id),
    changed,
    others: others.map(({ item }) => item.id),
  };
}

function isKnown(seen: SeenConversation): seen is KnownConversation {
  return seen.known !== undefined;
}

/**
 * Begins and ends the intervals of conversations that a page has shown to be new or different. Runs after
 * their rows and changes are written, in the same transaction. It writes what `intervalsSql` would return for
 * them (docs/decisions/0021), and runs that query for the others.
 * @param sightings when each changed conversation was last seen before the page, ISO 8601, by id
 */
export async function writeIntervals(
  tx: Sql,
  dialect: Dialect,
  context: SightingContext,
  { appeared, changed, others }: Turned,
  sightings: ReadonlyMap<string, string>,
): Promise<void> {
  const { inboxId, observedAt, baseline } = context;
  if (appeared.length > 0) {
    const fromEarliest = baseline ? null : earlier(await lastCompleteStart(tx, context), observedAt);
    const beginning = { fromAt: observedAt, fromEarliest, isLowerBound: baseline };
    await beginAppeared(tx, dialect, { inboxId, ids: appeared }, beginning);
  }
  for (const kind of changed.length === 0 ? [] : INTERVAL_KINDS) {
    const edges = edgesOf(kind, changed, (id) => earlier(sightings.get(id) ?? null, observedAt));
    await endIntervals(tx, dialect, kind, context, edges.ended);
    await beginIntervals(tx, dialect, kind, context, edges.begun);
  }
  await computeIntervals(tx, dialect, inboxId, others);
}

/** The earlier of two instants. A sighting before can be the later one if the clock was set back since. */
function earlier(before: string | null, now: string): string | null {
  return before !== null && before > now ? now : before;
}

/** True if a page begins or ends an interval of the conversation. */
function isTurned({ item, known }: SeenConversation): boolean {
  if (known === undefined || known.deleted) return true;
  return INTERVAL_KINDS.some((kind) => {
    const [before, after] = [valuesOf(kind, known), valuesOf(kind, item, known)];
    return before.length !== after.length || before.some((value) => !after.includes(value));
  });
}

/** The values of an item that intervals record. An item without the field `tags` keeps those it had. */
function valuesOf(
  kind: IntervalKind,
  { columns, tags }: Pick<Known, 'columns' | 'tags'>,
  before?: Pick<Known, 'tags'>,
): readonly (string | null)[] {
  if (kind === 'tag') return tags ?? before?.tags ?? [];
  return [kind === 'status' ? statusName(columns['status']) : asId(columns['assignee_id'])];
}

function asId(id: Value | undefined): string | null {
  return id === null || id === undefined || id === '' ? null : String(id);
}

function edgesOf(
  kind: IntervalKind,
  changed: readonly KnownConversation[],
  earliestOf: (id: string) => string | null,
): Edges {
  const edges: Edges = { begun: [], ended: [] };
  for (const { item, known } of changed) {
    const [before, after] = [valuesOf(kind, known), valuesOf(kind, item, known)];
    const from_earliest = earliestOf(item.id);
    for (const value of after)
      if (!before.includes(value))
        edges.begun.push({
          id: item.id,
          value,
          before: kind === 'tag' ? null : (before[0] ?? null),
          from_earliest,
        });
    for (const value of before) if (!after.includes(value)) edges.ended.push({ id: item.id, value });
  }
  return edges;
}

/**
 * When the last complete sweep before this one began, in the stored form. New conversations were not there
 * then.
 */
async function lastCompleteStart(
  tx: Sql,
  { list, inboxId, sweepId }: SightingContext,
): Promise<string | null> {
  const [sweep] = await tx.query<{ started_at: Date }>(
    `SELECT started_at FROM sweeps
     WHERE list = $1 AND inbox_id = $2 AND state = 'complete' AND id < $3 ORDER BY id DESC LIMIT 1`,
    list,
    inboxId,
    sweepId,
  );
  return sweep === undefined ? null : iso(sweep.started_at);
}

async function beginIntervals(
  tx: Sql,
  dialect: Dialect,
  kind: IntervalKind,
  { inboxId, observedAt }: SightingContext,
  begun: Edges['begun'],
): Promise<void> {
  if (begun.length === 0) return;
  const { table, value, before } = INTERVALS[kind];
  const columns = { id: 'text', value: 'text', before: 'text', from_earliest: 'instant' } as const;
  const [column, ofBegun] = before === null ? ['', ''] : [`, ${before}`, ', before'];
  await tx.execute(
    `INSERT INTO ${table}
       (inbox_id, conversation_id, ${value}, from_at, from_earliest, is_lower_bound${column})
     SELECT $1, id, value, $2, from_earliest, $3${ofBegun}
     FROM ${dialect.records('$4', columns, 'begun')}`,
    inboxId,
    observedAt,
    false,
    JSON.stringify(begun),
  );
}

async function endIntervals(
  tx: Sql,
  dialect: Dialect,
  kind: IntervalKind,
  { inboxId, observedAt }: SightingContext,
  ended: Edges['ended'],
): Promise<void> {
  if (ended.length === 0) return;
  const { table, value } = INTERVALS[kind];
  // A conversation has one open interval of status and of assignee, but one for each of its tags.
  const links = dialect.records('$4', { id: 'text', value: 'text' }, 'ended');
  const ofTags = kind === 'tag' ? `AND (conversation_id, ${value}) IN (SELECT id, value FROM ${links})` : '';
  const scope = idsScope(dialect)('inbox_id', 'conversation_id');
  await tx.execute(
    `UPDATE ${byConversation(dialect, table)} SET to_at = $3 WHERE ${scope} AND to_at IS NULL ${ofTags}`,
    inboxId,
    JSON.stringify([...new Set(ended.map(({ id }) => id))]),
    observedAt,
    ...(kind === 'tag' ? [JSON.stringify(ended)] : []),
  );
}
