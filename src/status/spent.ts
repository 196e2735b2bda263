import type { SpentKind } from '../mirror/gate/budget-use.ts';

/** The requests of the last 24 hours, by what they were for. */
export interface SpentParts {
  /** For the pages of lists that schedules read whole, the list of inboxes included. */
  readonly wholeLists: number;
  /** For single pages of conversations. */
  readonly singlePages: number;
  /** Questions about rows, and tests of the key after a refusal. */
  readonly lookups: number;
  /** For orders and other commands of a person. */
  readonly commands: number;
}

/** The same, and by the hour. */
export interface SpentRequests extends SpentParts {
  /** All of them in each of these hours, the oldest first. */
  readonly byHour: readonly number[];
}

/** Sums up what the requests of the day's budget were for. */
export function spentRequests(spent: readonly SpentKind[]): SpentRequests {
  const byHour = Array.from({ length: 24 }, () => 0);
  for (const { hour, requests } of spent) byHour[hour] = (byHour[hour] ?? 0) + requests;
  return { ...spentParts(spent), byHour };
}

export function spentParts(spent: readonly SpentKind[]): SpentParts {
  const sums = { wholeLists: 0, singlePages: 0, lookups: 0, commands: 0 };
  for (const kind of spent) sums[partOf(kind)] += kind.requests;
  return sums;
}

function partOf({ reason, list }: SpentKind): keyof SpentParts {
  if (reason === 'schedule') return 'wholeLists';
  if (reason === 'page' && list === 'conversations') return 'singlePages';
  return reason === 'page' || reason === 'probe' ? 'lookups' : 'commands';
}
