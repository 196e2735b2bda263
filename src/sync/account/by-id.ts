import { isMirrorError, type MirrorError } from '../../core/errors.ts';
import type { KnownInbox } from '../../mirror/gate/account.ts';
import type { CallOptions, Client, Found } from '../../service/client.ts';
import { emailOf, expectedOf, isMost, isSameAddress, lackingIn, type ListedInbox } from './marks.ts';

/** The first 3 inboxes that are requested by their ids, or that the service returns so, decide. */
export const MOST_SHOWN = 3;

/** At most this many are asked for by id: the service may not know some of them. */
const MOST_LACKING_ASKED = 10;

/** Errors of a question for one inbox: another one may be answered. */
export const NO_ANSWER = [
  'LIST_FORBIDDEN',
  'REQUEST_REFUSED',
  'BAD_ANSWER',
  'ANSWER_FAILED',
  'SERVICE_DOWN',
] as const;

/** The inboxes that the service lists. */
export interface InboxesShown {
  readonly listed: readonly ListedInbox[];
  readonly isComplete: boolean;
}

/** The answers to questions for single inboxes. */
interface ById {
  /** Those with other addresses, if they are most of those that it returns. */
  readonly strangers: readonly ListedInbox[];
  /** True if it returns at least one, and as many as it does not. A failure counts only for `isOtherList`. */
  readonly showsOurs: boolean;
}

/**
 * Asks by their ids for inboxes of the mirror that are not listed, until the service returns three. Suspects
 * are asked for only if all are suspects: they may be of an account that was replaced.
 * @param list `showsOne`: it has an inbox of the mirror, and none that a consent has replaced. `isOtherList`:
 *   it is another account's, unless its rows without an id are the mirror's. Failed questions count against
 *   it then
 * @throws MirrorError the first failure but a 403, if the questions returned no inbox or a 429 ended them,
 *   and not `showsOne`, or the list is not complete after a 429
 * @throws any other error at once: further questions would meet it too
 */
export async function askById(
  client: Client,
  options: CallOptions,
  known: readonly KnownInbox[],
  {
    listed,
    isComplete,
    showsOne,
    isOtherList,
  }: InboxesShown & { readonly showsOne: boolean; readonly isOtherList: boolean },
): Promise<ById> {
  const once = { ...options, tries: 1, isServiceTest: true };
  const lacking = lackingIn(expectedOf(known), listed).slice(0, MOST_LACKING_ASKED);
  const strangers: ListedInbox[] = [];
  let [asked, returned, unknown] = [0, 0, 0];
  let fault: MirrorError | null = null;
  let isCut = false;
  for (const { id, email } of lacking) {
    asked += 1;
    let found: Found | undefined;
    try {
      found = await client.getInbox(id, once);
    } catch (error) {
      if (!isMirrorError(error, ...NO_ANSWER, 'GATE_PAUSED')) throw error;
      if (error.code !== 'LIST_FORBIDDEN') fault ??= error;
      // After a 429 a further question would only wait for the end of the pause.
      isCut = error.code === 'GATE_PAUSED' || error.status === 429;
      if (isCut) break;
    }
    if (found === null) unknown += 1;
    if (found?.item.id !== id) continue;
    const shown = { id, email: emailOf(found.item) };
    if (!isSameAddress(email, shown.email)) strangers.push(shown);
    returned += 1;
    if (returned === MOST_SHOWN) break;
  }
  const decides = returned > 0 && !isCut;
  // After a 429 a complete list is safe: the lists of inboxes that it lacks are not read.
  const mayBeRead = showsOne && (isComplete || !isCut);
  if (fault !== null && !decides && !mayBeRead) throw fault;
  return {
    strangers: !isCut && isMost(strangers.length, returned) ? strangers : [],
    showsOurs: returned > 0 && returned >= (isOtherList ? asked - returned : unknown),
  };
}
