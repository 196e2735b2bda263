import { HOUR } from '../../src/core/clock.ts';
import type { PassReport } from '../../src/sync/pass.ts';
import { GONE_AFTER_MS, type MirrorOptions, type TestMirror } from './mirror.ts';
import { quickMirror } from './template.ts';

/** Why no 404 of the service can confirm a deletion now. */
const UNPROVEN = /shows no other row|and later returned it/;

/** A mirror an hour after its first sync, by default of one inbox with so many conversations. */
export async function syncedMirror(conversations: number, options: MirrorOptions = {}): Promise<TestMirror> {
  const few = {
    idType: 'string' as const,
    conversations: [conversations],
    usersPerInbox: 5,
    tagsPerInbox: 4,
  };
  const mirror = await quickMirror({ ...options, sandbox: { ...few, ...options.sandbox } });
  await mirror.sync();
  mirror.clock.advance(HOUR);
  return mirror;
}

/**
 * Syncs twice, far enough apart that the second sweep is the second witness of every absence.
 * @param apartMs at least the mirror's GONE_AFTER
 * @returns the report of the second sync
 */
export async function syncTwice(mirror: TestMirror, apartMs = GONE_AFTER_MS): Promise<PassReport> {
  const first = await mirror.sync({ acceptAccount: true });
  if (first.stopped !== null) return first;
  mirror.clock.advance(apartMs);
  return await mirror.sync({ acceptAccount: true });
}

/** Two syncs a second apart, whose deletions a person accepts: in a small world nothing else confirms them. */
export async function syncAccepted(mirror: TestMirror): Promise<PassReport> {
  await mirror.sync({ acceptAccount: true });
  mirror.clock.advance(1000);
  return await mirror.sync({ acceptAccount: true, acceptDeletes: true });
}

/**
 * Syncs until no row is a suspect: once more if there are any. A person accepts deletions that are held, and
 * those that the service's answers cannot confirm: it lists no other row of their kind, or an inbox that came
 * back ends the belief in its 404s for some hours.
 */
export async function syncSettled(mirror: TestMirror): Promise<PassReport> {
  const before = mirror.events.length;
  const first = await mirror.sync({ acceptAccount: true });
  if (first.stopped !== null || first.lists.every(({ suspects }) => suspects === 0)) return first;
  mirror.clock.advance(GONE_AFTER_MS);
  const report = await mirror.sync({ acceptAccount: true });
  const isUnproven = mirror.events
    .slice(before)
    .some((event) => event.kind === 'withheld' && UNPROVEN.test(event.cause));
  if (report.stopped !== null || (!isUnproven && report.lists.every(({ held }) => held === 0))) return report;
  return await mirror.sync({ kind: 'resync', acceptDeletes: true });
}
