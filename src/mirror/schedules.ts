import type { ListName } from '../core/lists.ts';
import type { Sql } from '../database/database.ts';
import { iso, isoOrNull } from '../database/instants.ts';
import type { FencedDatabase } from './lease.ts';

/** The schedule of one kind of list, and the slots before and after now. */
export interface Schedule {
  readonly list: ListName;
  readonly expression: string;
  readonly timezone: string;
  /** The next slot. */
  readonly nextAt: Date;
  /** The latest slot that has passed: a list that was not read since then is due. */
  readonly dueSince: Date | null;
}

/** Reads the schedules as the daemon or the last `sync` recorded them. */
export class ScheduleReader {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async all(): Promise<Schedule[]> {
    const rows = await this.#sql.query<{
      list: ListName;
      expression: string;
      timezone: string;
      next_at: Date;
      due_since: Date | null;
    }>(`SELECT list, expression, timezone, next_at, due_since FROM schedules`);
    return rows.map(({ next_at, due_since, ...row }) => ({ ...row, nextAt: next_at, dueSince: due_since }));
  }
}

/** Writes the schedules, for the holder of the lease. */
export class Schedules extends ScheduleReader {
  readonly #fenced: FencedDatabase;

  constructor(fenced: FencedDatabase) {
    super(fenced.database);
    this.#fenced = fenced;
  }

  async write({ list, expression, timezone, nextAt, dueSince }: Schedule): Promise<void> {
    await this.#fenced.write(async (tx) => {
      await tx.execute(
        `INSERT INTO schedules (list, expression, timezone, next_at, due_since)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (list) DO UPDATE SET expression = excluded.expression, timezone = excluded.timezone,
           next_at = excluded.next_at, due_since = excluded.due_since`,
        list,
        expression,
        timezone,
        iso(nextAt),
        isoOrNull(dueSince),
      );
    });
  }
}
