import { LIST_NAMES } from '../../src/core/lists.ts';
import type { PassSpec } from '../../src/mirror/passes/passes.ts';

/** A sync of all lists, requested by `test`. `overrides` replace these. */
export function passSpec(overrides: Partial<PassSpec> = {}): PassSpec {
  return {
    kind: 'sync',
    lists: LIST_NAMES,
    inboxId: null,
    acceptDeletes: false,
    acceptAccount: false,
    requestedBy: 'test',
    ...overrides,
  };
}
