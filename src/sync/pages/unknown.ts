import type { ListKey } from '../../core/lists.ts';
import type { UnknownIds } from '../../mirror/items/unknown.ts';
import type { SweepDeps } from '../deps.ts';

/** Reports the users and tags that conversations of an inbox name and that the mirror has never had. */
export function reportUnknown(
  { onEvent }: Pick<SweepDeps, 'onEvent'>,
  { inboxId }: ListKey,
  unknown: UnknownIds,
): void {
  for (const [list, ids] of unknown) onEvent({ kind: 'unknown-ids', key: { list, inboxId }, ids });
}
