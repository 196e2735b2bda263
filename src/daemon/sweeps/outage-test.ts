import { listId, type ListKey } from '../../core/lists.ts';
import { newestSweep, type Writer } from '../../mirror/mirror.ts';
import type { DueList } from '../../sync/planning/agenda.ts';
import type { ListRests } from './rests/list-rests.ts';

interface TestDeps {
  readonly mirror: Pick<Writer, 'inboxes' | 'sweeps'>;
  readonly rests: ListRests;
  /** A schedule or an order sweeps the list. */
  readonly isSwept: (key: ListKey) => boolean;
}

/**
 * Chooses the lists that show whether the service answers again. One that has failed may be broken by itself,
 * and would hide that others are answered: if there are no others, the cheap list that was tried longest ago
 * is taken. A process that has just started knows from the stored sweeps which ones have failed.
 */
export async function listsForTest(
  { mirror, rests, isSwept }: TestDeps,
  due: readonly DueList[],
): Promise<DueList[]> {
  const latest = await mirror.sweeps.latest();
  /** When the list failed last, epoch ms; 0 if its newest sweep did not. */
  const failedAt = (key: ListKey): number => {
    const last = newestSweep(latest.get(listId(key)) ?? []);
    const isFailure = last?.errorCode === 'ANSWER_FAILED' || last?.errorCode === 'SERVICE_DOWN';
    return last?.state === 'paused' && isFailure ? last.heartbeatAt.getTime() : 0;
  };
  const others = due.filter(({ key }) => !rests.isBlamed(key) && failedAt(key) === 0);
  if (others.length > 0) return others;
  const cheap = rests.leastBlamed(await mirror.inboxes(), failedAt).find((key) => !isSwept(key));
  if (cheap === undefined) return [];
  return [{ key: cheap, requests: 1, first: false, spent: 0, small: true, worn: false, waits: false }];
}
