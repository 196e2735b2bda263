import { isMirrorError, MirrorError } from '../../../core/errors.ts';
import { plural } from '../../../core/humanize.ts';
import type { WrongIntervals } from '../../../mirror/history/intervals/check.ts';
import type { Session } from '../../../session/session.ts';

type Findings = { readonly verdict: 'ok' | 'warning'; readonly message: string };

/**
 * Replaces stored intervals that differ from what `changes` define, and stored sums of days that differ from
 * the intervals and `changes`. @throws MirrorError `LEASE_HELD`: nothing was replaced
 */
export async function verifyMirror({ mirror, clock, claim }: Session): Promise<Findings> {
  const intervals = await mirror.wrongIntervals();
  const days = await mirror.wrongDays();
  const found = [...differingIntervals(intervals), ...differingDays(days)].join('; ');
  if (found === '') return { verdict: 'ok', message: 'all agree with `changes`' };
  const claimed = await claim('doctor --verify').catch((error: unknown) => {
    if (!isMirrorError(error, 'LEASE_HELD')) throw error;
    throw new MirrorError('LEASE_HELD', `${found}; nothing was replaced. ${error.message}`);
  });
  try {
    await claimed.mirror.repairIntervals(intervals);
    // Also counts the days whose intervals were wrong.
    await claimed.mirror.repairDays(days, clock.now());
  } finally {
    await claimed.release();
  }
  return { verdict: 'warning', message: `${found}; they were replaced` };
}

function differingIntervals(wrong: readonly WrongIntervals[]): string[] {
  const [first] = wrong;
  if (first === undefined) return [];
  const kinds = [...Map.groupBy(wrong, ({ kind }) => kind)].map(
    ([kind, of]) => `${kind} of ${plural(of.length, 'conversation')}`,
  );
  const example = `such as conversation ${first.conversationId} of inbox ${first.inboxId}`;
  return [`${kinds.join(', ')} differed from \`changes\`, ${example}`];
}

function differingDays([first, ...others]: readonly string[]): string[] {
  if (first === undefined) return [];
  const days = plural(1 + others.length, 'day');
  return [`sums of ${days} differed from the intervals and \`changes\`, such as ${first}`];
}
