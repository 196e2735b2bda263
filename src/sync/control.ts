import { HOUR, MINUTE } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import type { ListKey, ListName } from '../core/lists.ts';
import type { ListedExample } from '../mirror/items/suspects.ts';
import type { CallOptions } from '../service/client.ts';
import type { SweepDeps } from './deps.ts';

type Deps = Pick<SweepDeps, 'client' | 'mirror' | 'clock'>;

/**
 * Whether the service returns a row by its id that its lists show. If it does not, or if its lists show no
 * other row, a 404 for an id says nothing.
 */
export type Control = 'returned' | 'not-returned' | 'no-other-row';

/** For how many ms an answer counts. */
const VALID_MS = { returned: HOUR, 'not-returned': 10 * MINUTE };

/** The answers of a mirror's service: lists are swept side by side, and one answer serves them all. */
interface Known {
  readonly answers: Map<ListName, { readonly control: Control; readonly until: number }>;
  readonly underWay: Map<ListName, Promise<Control>>;
}

const KNOWN = new WeakMap<object, Known>();

function knownOf({ mirror }: Pick<Deps, 'mirror'>): Known {
  const known = KNOWN.get(mirror) ?? { answers: new Map(), underWay: new Map() };
  KNOWN.set(mirror, known);
  return known;
}

/** Records that the service has returned a row that it was asked for by its id. */
export function noteReturned(deps: Pick<Deps, 'mirror' | 'clock'>, list: ListName): void {
  const until = deps.clock.monotonic() + VALID_MS.returned;
  knownOf(deps).answers.set(list, { control: 'returned', until });
}

/**
 * Asks the control question, for up to three rows that the lists show, unless the answer is known.
 * @throws MirrorError
 */
export async function control(deps: Deps, key: ListKey, options: CallOptions): Promise<Control> {
  const { answers, underWay } = knownOf(deps);
  const answer = answers.get(key.list);
  if (answer !== undefined && deps.clock.monotonic() < answer.until) return answer.control;
  // If the other list's question fails, this list asks for itself.
  const heard = await underWay.get(key.list)?.catch(() => null);
  if (heard != null && heard !== 'no-other-row') return heard;
  const question = ask(deps, key, options);
  underWay.set(key.list, question);
  try {
    const found = await question;
    if (found === 'returned') noteReturned(deps, key.list);
    else if (found === 'not-returned')
      answers.set(key.list, { control: found, until: deps.clock.monotonic() + VALID_MS[found] });
    return found;
  } finally {
    underWay.delete(key.list);
  }
}

async function ask({ client, mirror }: Deps, key: ListKey, options: CallOptions): Promise<Control> {
  const examples = await mirror.suspects.listedExamples(key);
  for (const example of examples) if (await isReturned(client, example, options)) return 'returned';
  return examples.length === 0 ? 'no-other-row' : 'not-returned';
}

async function isReturned(
  client: Deps['client'],
  { inboxId, id }: ListedExample,
  options: CallOptions,
): Promise<boolean> {
  try {
    const found =
      inboxId === null
        ? await client.getInbox(id, options)
        : await client.getConversation(inboxId, id, options);
    // The service also accepts thread ids, so it may return another conversation.
    return found?.item.id === id;
  } catch (error) {
    // Withdrawn access to one inbox says nothing of the others.
    if (isMirrorError(error, 'LIST_FORBIDDEN')) return false;
    throw error;
  }
}
