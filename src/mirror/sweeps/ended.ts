import { MirrorError } from '../../core/errors.ts';
import { describeList, type ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';

/**
 * Refuses to write what a sweep has seen once it is abandoned or its inbox is gone. An answer can arrive
 * after the inbox's tombstone, which covers its rows: it would bring some of them back, or delete them by
 * themselves.
 * @param tx the transaction that writes
 * @throws MirrorError `INBOX_GONE`
 */
export async function refuseEnded(tx: Sql, sweep: ListKey & { readonly id: number }): Promise<void> {
  if (sweep.inboxId === null) return;
  const [ended] = await tx.query<{ deleted_at: Date | null }>(
    `SELECT inboxes.deleted_at FROM sweeps LEFT JOIN inboxes ON inboxes.id = sweeps.inbox_id
     WHERE sweeps.id = $1 AND (sweeps.state = 'abandoned' OR inboxes.deleted_at IS NOT NULL)`,
    sweep.id,
  );
  if (ended === undefined) return;
  const why = ended.deleted_at === null ? 'a later sweep replaced it' : 'its inbox is gone';
  throw new MirrorError(
    'INBOX_GONE',
    `The sweep of the ${describeList(sweep)} has ended: ${why}. Its last answer is not written.`,
  );
}
