import { expect } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { LIST_NAMES, type ListName, TABLES } from '../../src/core/lists.ts';
import type { TestMirror } from './mirror.ts';

/** The pass that deletes a row began up to an hour before it is observed. */
const WINDOW_MS = DAY - HOUR;

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Checks the brake's promise after each step of a history: in 24 hours, at most 20 rows of a kind or a tenth
 * of them are deleted without a person's consent. It reads the tables and counts by true time.
 */
export class BrakeModel {
  readonly #mirror: TestMirror;
  /** When each row with a tombstone got it, in monotonic ms; never, if a person has accepted it. */
  readonly #deletedAt = new Map<ListName, Map<string, number>>();

  constructor(mirror: TestMirror) {
    this.#mirror = mirror;
  }

  /** @param isAccepted the step before was a pass with a person's consent */
  async observe(isAccepted: boolean): Promise<void> {
    for (const list of LIST_NAMES) await this.#observeKind(list, isAccepted);
  }

  async #observeKind(list: ListName, isAccepted: boolean): Promise<void> {
    const { database, clock } = this.#mirror;
    const rows = await database.query<{ inbox_id: string; id: string; deleted_at: Date | null }>(
      `SELECT ${list === 'inboxes' ? 'id' : 'inbox_id'} AS inbox_id, id, deleted_at FROM ${TABLES[list]}`,
    );
    const before = this.#deletedAt.get(list) ?? new Map<string, number>();
    const now = clock.monotonic();
    const gone = rows
      .filter(({ deleted_at: at }) => at !== null)
      .map(({ inbox_id, id }) => `${inbox_id}/${id}`);
    const after = new Map(gone.map((key) => [key, before.get(key) ?? (isAccepted ? NEVER : now)]));
    this.#deletedAt.set(list, after);
    if (gone.every((key) => before.has(key))) return;
    const recent = [...after.values()].filter((at) => at > now - WINDOW_MS).length;
    const live = rows.length - gone.length;
    if (recent > 20) expect(recent, `${list} of a day`).toBeLessThanOrEqual((live + recent) / 10);
  }
}
