import { isAnswering429 } from '../../core/gate-state.ts';
import { describeList } from '../../core/lists.ts';
import { plural } from '../../core/humanize.ts';
import type { WholeStatus } from '../../status/observe.ts';
import { heldDeletions, heldLists, heldWords, ifGone } from '../../status/held.ts';
import { attemptWords, sendingWords, shutGate } from '../../status/sending.ts';
import { html, type Html } from '../frame/html.ts';
import { lasting, lengthOf, type Moment, named } from '../frame/words.ts';

/** At most this many lists are named in a sentence. */
const MOST_NAMED = 3;

/** A sentence for each thing that needs a look, the gravest first. Empty: the mirror is as promised. */
export function troublesOf(status: WholeStatus, moment: Moment): (Html | string)[] {
  const { now, gate, gateWord, outage, otherAccount, judged, foreign, webhook } = status;
  // No other sentence names these; the table of lists shows why.
  const odd = judged.filter(
    ({ needsLook, freshness, held, failure }) =>
      needsLook && freshness === 'fresh' && held === 0 && failure === null,
  );
  const found: (Html | string | false)[] = [
    otherAccount !== null && html`The key leads to another account: ${otherAccount.cause}`,
    gateWord === 'key-refused' &&
      'The service refused the key. Set a valid one, or run inbox-mirror doctor once this one is valid ' +
        'again; the daemon then continues.',
    (gateWord === 'paused' || gateWord === 'breaker') &&
      html`Requests are ${sendingWords(shutGate(status), now, moment.timezone)}: ${gate.cause}`,
    outage !== null &&
      html`The service has ${isAnswering429(outage) ? 'refused requests (HTTP 429)' : 'not answered'} for
      ${lasting(outage.since, moment)}; the next attempt is ${attemptWords(outage.until, status)}:
      ${outage.cause}`,
    status.daemonIsSilent &&
      'The daemon has ended or cannot write: it has not renewed its lease. Its log says why.',
    !status.daemonRuns &&
      !status.daemonIsSilent &&
      'No daemon runs, so no list is read on schedule. Start one with inbox-mirror start.',
    foreign?.kind === 'day' &&
      "The account's day was full before the budget was spent: another client uses the account, or " +
        'REQUESTS_PER_DAY is too high.',
    foreign?.kind === 'rate' &&
      'The service answered 429 (too many requests), so requests leave less often. If it answers 429 ' +
        'again, another client uses the account, or REQUESTS_PER_SECOND is too high.',
    webhook !== null &&
      webhook.failures > 0 &&
      html`The webhook has failed ${plural(webhook.failures, 'time')}: ${webhook.cause}`,
    ...(['never', 'stale'] as const).map((word) => {
      const late = judged.filter(({ freshness }) => freshness === word);
      if (late.length === 0) return false;
      return word === 'never'
        ? html`${plural(late.length, 'list')} not complete yet: ${listNames(late)}.`
        : html`${plural(late.length, 'list')} older than
          ${lengthOf(Math.min(...late.map(({ promiseMs }) => promiseMs)))}: ${listNames(late)}.`;
    }),
    ...heldDeletions(judged).map((held) => {
      const lists = held.lists.length === 1 ? listName(held.lists[0]) : heldLists(held, null);
      return html`${lists}: ${heldWords(held)}. ${ifGone(held)}, run <code>${held.command}</code>.`;
    }),
    ...judged
      .filter(({ failure }) => failure !== null)
      .map((list) => html`${listName(list)}: ${list.failure}`),
    odd.length > 0 &&
      html`${plural(odd.length, 'list')} ${odd.length === 1 ? 'needs' : 'need'} a look: ${listNames(odd)}.`,
  ];
  return found.filter((trouble) => trouble !== false);
}

/** The names of the first lists, and the number of the others. */
function listNames(lists: WholeStatus['judged']): Html {
  const names = lists.slice(0, MOST_NAMED).map((list, index) => html`${index > 0 && ', '}${listName(list)}`);
  return html`${names}${lists.length > MOST_NAMED && ` and ${lists.length - MOST_NAMED} more`}`;
}

/** A list with its inbox's name. */
function listName(list: WholeStatus['judged'][number]): Html {
  if (list.inboxId === null) return html`${describeList(list)}`;
  return html`${list.list} of ${named(list.inbox, list.inboxId)}`;
}
