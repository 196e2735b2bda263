import { MirrorError } from '../../core/errors.ts';
import { describeList, type ListKey, type ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';

interface StoredSweep {
  readonly list: ListName;
  readonly inbox_id: string | null;
  readonly pages: number;
  readonly state: string;
  readonly deleted_at: Date | null;
}

/**
 * Refuses to write what a sweep has seen once it is abandoned or its inbox is gone. An answer can arrive
 * after the inbox's tombstone, which covers its rows: it would bring some of them back, or delete them by
 * themselves. Refuses it, too, if the mirror lacks the sweep or pages of it: a server with an older copy may
 * have taken over. The rows of those pages would become suspects.
 * @param tx the transaction that writes
 * @throws MirrorError `SWEEP_ENDED`
 */
export async function refuseEnded(
  tx: Sql,
  sweep: ListKey & { readonly id: number; readonly pages: number },
): Promise<void> {
  const [stored] = await tx.query<StoredSweep>(
    `SELECT sweeps.list, sweeps.inbox_id, sweeps.pages, sweeps.state, inboxes.deleted_at
     FROM sweeps LEFT JOIN inboxes ON inboxes.id = sweeps.inbox_id WHERE sweeps.id = $1`,
    sweep.id,
  );
  const why = reasonOf(stored, sweep);
  if (why === null) return;
  throw new MirrorError(
    'SWEEP_ENDED',
    `The sweep of the ${describeList(sweep)} has ended: ${why}. Its last answer is not written.`,
  );
}

/** Why the sweep has ended; null if it has not. */
function reasonOf(
  stored: StoredSweep | undefined,
  { list, inboxId, pages }: ListKey & { readonly pages: number },
): string | null {
  const isSame = stored?.list === list && stored.inbox_id === inboxId;
  // A round counts its pages once it is complete.
  if (!isSame || (stored.state === 'running' && stored.pages !== pages))
    return 'an older copy has taken the place of the mirror';
  if (stored.deleted_at !== null) return 'its inbox is gone';
  return stored.state === 'abandoned' ? 'a later sweep replaced it' : null;
}
