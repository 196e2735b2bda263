import { isMirrorError, MirrorError } from '../../../core/errors.ts';
import { plural } from '../../../core/humanize.ts';
import type { Writer } from '../../../mirror/mirror.ts';
import type { WrongIntervals } from '../../../mirror/history/intervals/check.ts';
import type { Session } from '../../../session/session.ts';

type Findings = { readonly verdict: 'ok' | 'warning'; readonly message: string };

/**
 * Replaces stored intervals that differ from what `changes` define, then stored sums of days that differ from
 * the intervals and `changes`. @throws MirrorError `LEASE_HELD`
 */
export async function verifyMirror(session: Session): Promise<Findings> {
  const { mirror, clock } = session;
  const found: string[] = [];
  const wrong = await mirror.wrongIntervals();
  if (wrong.length > 0) {
    found.push(`${differing(wrong)}; they were replaced`);
    await repair(session, differing(wrong), (writer) => writer.repairIntervals(wrong));
  }
  const days = await mirror.wrongDays();
  if (days.length > 0) {
    const sums =
      `sums of ${plural(days.length, 'day')} differed from the intervals and \`changes\`, ` +
      `such as ${days[0]}`;
    found.push(`${sums}; they were counted again`);
    await repair(session, sums, (writer) => writer.repairDays(days, clock.now()));
  }
  if (found.length === 0) return { verdict: 'ok', message: 'all agree with `changes`' };
  return { verdict: 'warning', message: found.join('; ') };
}

function differing(wrong: readonly WrongIntervals[]): string {
  const kinds = [...Map.groupBy(wrong, ({ kind }) => kind)].map(
    ([kind, of]) => `${kind} of ${plural(of.length, 'conversation')}`,
  );
  const [first] = wrong;
  const example = `such as conversation ${first?.conversationId} of inbox ${first?.inboxId}`;
  return `${kinds.join(', ')} differed from \`changes\`, ${example}`;
}

/** Claims the mirror for `work`. @param found what differs, for the message of `LEASE_HELD` */
async function repair(
  { claim }: Session,
  found: string,
  work: (writer: Writer) => Promise<void>,
): Promise<void> {
  const claimed = await claim('doctor --verify').catch((error: unknown) => {
    if (!isMirrorError(error, 'LEASE_HELD')) throw error;
    throw new MirrorError('LEASE_HELD', `${found}; nothing was replaced. ${error.message}`);
  });
  try {
    await work(claimed.mirror);
  } finally {
    await claimed.release();
  }
}
