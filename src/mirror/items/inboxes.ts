import { MirrorError } from '../../core/errors.ts';
import type { Sql } from '../../database/database.ts';

/** An inbox without a tombstone. */
export interface Inbox {
  readonly id: string;
  readonly name: string | null;
  readonly authorised: boolean | null;
  /** True if the last complete sweep of `inboxes` did not list it: it waits for its second witness. */
  readonly suspect: boolean;
}

/** Every inbox without a tombstone, in numeric order of the ids. */
export async function liveInboxes(sql: Sql): Promise<Inbox[]> {
  const rows = await sql.query<{
    id: string;
    display_name: string | null;
    is_authorised: boolean | null;
    missing_since: Date | null;
  }>(
    `SELECT id, display_name, is_authorised, missing_since FROM inboxes
     WHERE deleted_at IS NULL ORDER BY length(id), id`,
  );
  return rows.map((row) => ({
    id: row.id,
    name: row.display_name,
    authorised: row.is_authorised,
    suspect: row.missing_since !== null,
  }));
}

/** At most this many inboxes in the message. */
const MOST_NAMED = 10;

/** The error for an inbox that the service does not have; it names those that the service has. */
export function inboxNotInService(inboxId: string, inboxes: readonly Inbox[]): MirrorError {
  const known = inboxes.slice(0, MOST_NAMED).map(({ id, name }) => `${id} (${name ?? 'no name'})`);
  return new MirrorError(
    'USAGE',
    `The service has no inbox ${inboxId}. ` +
      `It has: ${known.join(', ') || 'none'}${inboxes.length > MOST_NAMED ? ', …' : ''}.`,
  );
}
