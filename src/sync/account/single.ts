import { isMirrorError } from '../../core/errors.ts';
import type { Item } from '../../core/lists.ts';
import type { KnownInbox } from '../../mirror/gate/account.ts';
import type { CallOptions, Client } from '../../service/client.ts';
import type { AccountCheck } from './account.ts';
import { MOST_SHOWN, NO_ANSWER } from './by-id.ts';
import { emailOf, expectedOf, isLive, isMost, isSameAddress } from './marks.ts';

const OTHER_ADDRESS =
  "the inbox has another address there, and the list of inboxes shows too few of the mirror's to tell " +
  'whose it is; `sync --accept-account` accepts it';
const EARLIER_ACCOUNT =
  'a consent has replaced the inbox, and the service did not return the inboxes that its list had: the ' +
  'earlier account may have answered';

/** How an account is asked for single inboxes. */
interface Asking {
  readonly account: AccountCheck;
  readonly client: Client;
}

/**
 * Asks for an inbox by its id to judge the account: `ours` if its address is the one that the mirror knows.
 * This proof is weaker than the list of inboxes, and serves if the service does not answer that list.
 * `unknown` if the service does not know the mirror's first inboxes, as in some outages, or does not
 * answer: the next requests show why.
 */
export async function judgeByInbox(asking: Asking, call: CallOptions): Promise<'ours' | 'other' | 'unknown'> {
  try {
    for (const inbox of await firstExpected(asking)) {
      const shown = await ask(asking, inbox, call);
      if (shown !== null) return shown;
    }
  } catch (error) {
    if (!isMirrorError(error) && !call.signal?.aborted) throw error;
  }
  return 'unknown';
}

/**
 * Why an inbox that its list lacks, and that the service has returned by its id, may be another account's;
 * null if it is the mirror's. It may be if a consent has replaced it, and the account of the consent does
 * not answer now; or if it has another address than the mirror knows, and the list shows too few inboxes of
 * the mirror to prove the account.
 * @param accepts a person has accepted the account, with its addresses
 */
export async function doubtOf(
  asking: Asking,
  item: Item,
  call: CallOptions,
  accepts: boolean,
): Promise<string | null> {
  const live = (await asking.account.known()).inboxes.filter(isLive);
  const known = live.find(({ id }) => id === item.id);
  if (known === undefined) return null;
  // After a consent to an empty list every inbox is a replaced one: none is left to ask for.
  const hasOwn = live.some(({ replaced }) => !replaced);
  if (known.replaced && hasOwn && (await lacksExpected(asking, call))) return EARLIER_ACCOUNT;
  if (accepts || isSameAddress(known.email, emailOf(item))) return null;
  const missing = live.filter(({ missingSince }) => missingSince !== null);
  return isMost(missing.length, live.length) ? OTHER_ADDRESS : null;
}

/**
 * True if the service returns none of the first inboxes that are expected, and has answered for one of
 * them. If it answers for none, their list decides.
 * @throws MirrorError `OTHER_ACCOUNT`, or an error that is not about a single inbox
 */
async function lacksExpected(asking: Asking, call: CallOptions): Promise<boolean> {
  let hasAnswered = false;
  for (const inbox of await firstExpected(asking)) {
    try {
      if ((await ask(asking, inbox, call)) === 'ours') return false;
      hasAnswered = true;
    } catch (error) {
      if (!isMirrorError(error, ...NO_ANSWER)) throw error;
    }
  }
  if (!hasAnswered) await asking.account.readInboxes(asking.client, call, false);
  return hasAnswered;
}

async function firstExpected({ account }: Asking): Promise<readonly KnownInbox[]> {
  return expectedOf((await account.known()).inboxes).slice(0, MOST_SHOWN);
}

/** Asks for an inbox by its id. Null: the service does not know it. */
async function ask(
  { account, client }: Asking,
  { id, email }: KnownInbox,
  call: CallOptions,
): Promise<'ours' | 'other' | null> {
  const options = { ...call, tries: 1, isServiceTest: true };
  const found = await account.sendProven(client, options, () => client.getInbox(id, options));
  if (found === null) return null;
  return found.item.id === id && isSameAddress(email, emailOf(found.item)) ? 'ours' : 'other';
}
