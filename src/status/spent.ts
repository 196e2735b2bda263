import type { SpentKind, WindowByHour } from '../mirror/gate/budget-use.ts';

/** The requests of the last 24 hours. */
export interface SpentRequests {
  /** For the pages of lists that schedules read whole, the list of inboxes included. */
  readonly wholeLists: number;
  /** For single pages of conversations. */
  readonly singlePages: number;
  /** For single items that a page lacked, and for tests of the key after a refusal. */
  readonly lookups: number;
  /** For orders and other commands of a person. */
  readonly commands: number;
  /** All of them in each of these hours, the oldest first. */
  readonly byHour: readonly number[];
}

/** Sums up what the requests of the day's budget were for. */
export function spentRequests(spent: readonly SpentKind[], { sent, leaving }: WindowByHour): SpentRequests {
  const sums = { wholeLists: 0, singlePages: 0, lookups: 0, commands: 0 };
  for (const kind of spent) sums[partOf(kind)] += kind.requests;
  // The window is half a minute longer than the 24 hours in which its requests leave it.
  const youngest = sent - leaving.reduce((sum, requests) => sum + requests, 0);
  return { ...sums, byHour: [...leaving.slice(0, -1), (leaving.at(-1) ?? 0) + youngest] };
}

function partOf({ reason, list }: SpentKind): 'wholeLists' | 'singlePages' | 'lookups' | 'commands' {
  if (reason === 'schedule') return 'wholeLists';
  if (reason === 'page' && list === 'conversations') return 'singlePages';
  return reason === 'page' || reason === 'probe' ? 'lookups' : 'commands';
}
