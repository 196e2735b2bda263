import { isoOrNull } from '../../database/instants.ts';
import type { FencedDatabase } from '../lease.ts';

/** An outage of the service. The daemon sends no request before `until`. */
export interface Outage {
  readonly since: Date;
  readonly until: Date;
  readonly cause: string;
}

export interface OutageRow {
  outage_since: Date | null;
  outage_until: Date | null;
  outage_cause: string | null;
}

export function asOutage(row: OutageRow): Outage | null {
  if (row.outage_since === null || row.outage_until === null) return null;
  return { since: row.outage_since, until: row.outage_until, cause: row.outage_cause ?? 'cause unknown' };
}

/** Records an outage; null records that the service answers again. */
export async function writeOutage({ write }: FencedDatabase, outage: Outage | null): Promise<void> {
  await write(async (tx) => {
    await tx.execute(
      `INSERT INTO gate_state (id, outage_since, outage_until, outage_cause) VALUES (1, $1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET outage_since = excluded.outage_since,
         outage_until = excluded.outage_until, outage_cause = excluded.outage_cause`,
      isoOrNull(outage?.since ?? null),
      isoOrNull(outage?.until ?? null),
      outage?.cause ?? null,
    );
  });
}
