import { SECOND } from '../../core/clock.ts';
import { PRESENCE, PRESENT } from '../../core/diff.ts';
import { plural } from '../../core/humanize.ts';
import type { ChangeRow } from '../../query/figures/changes.ts';
import { MOST_CHANGES, readConversation, type WholeConversation } from '../../query/figures/conversation.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import { html, type Html } from '../frame/html.ts';
import { changeWords, personName, statusWord, tagChip } from '../frame/items.ts';
import { factsList, type PageContent, section, table } from '../frame/layout.ts';
import { inboxPath, permalink } from '../frame/links.ts';
import { stampOf } from '../frame/stamp.ts';
import { ago, exact, lengthOf, type Moment, named } from '../frame/words.ts';
import type { Visit } from '../pages.ts';

/** `/inboxes/ID/conversations/ID`: a conversation as it is, and all that has changed. */
export async function conversationPage({ desk, moment, params }: Visit): Promise<PageContent | null> {
  const { inbox = '', conversation = '' } = params;
  const { found, lists } = await desk.quick(`conversation ${inbox} ${conversation}`, async (read) => ({
    found: await readConversation(read, inbox, conversation),
    lists: await readFreshness(read),
  }));
  if (found === null) return null;
  const { now } = found;
  return {
    title: `Conversation ${now.id}`,
    active: '/',
    trail: [
      { href: '/', name: 'Overview' },
      { href: inboxPath(inbox), name: named(now.inbox, inbox) },
    ],
    stamp: stampOf(lists, moment, inbox),
    body: html`${gone(found, moment)}
      <div class="columns">
        ${section('Now', present(found, moment))}${section('Time in status', times(found))}
      </div>
      ${section('History', timeline(found, moment), { wide: true, note: NOTE })}`,
  };
}

const NOTE =
  'Each change happened between two sightings: after the earlier one, and before the one that saw it.';

function gone({ now }: WholeConversation, moment: Moment): Html {
  if (now.deleted_at !== null)
    return html`<p class="verdict late">
      The service no longer lists this conversation: gone ${ago(now.deleted_at, moment)}.
    </p>`;
  if (now.missing_since === null) return html``;
  return html`<p class="verdict late">
    The service did not list this conversation ${ago(now.missing_since, moment)}; the mirror asks again before
    it believes that.
  </p>`;
}

function present(found: WholeConversation, moment: Moment): Html {
  const { now, tags } = found;
  // Its appearance is a change too.
  const isDated = appeared(found) || Date.parse(now.changed_at) > Date.parse(now.first_seen_at);
  const facts: readonly (readonly [string, Html])[] = [
    ['Status', statusWord(now.status)],
    ['Assignee', personName(now.assignee, now.assignee_id)],
    ['Tags', tags.length === 0 ? html`<span class="absent">no tag</span>` : html`${tags.map(tagChip)}`],
    [
      'Begun',
      now.thread_started_at === null
        ? html`<span class="absent">unknown</span>`
        : ago(now.thread_started_at, moment),
    ],
    ['First seen', ago(now.first_seen_at, moment)],
    ['Last change', html`${ago(now.changed_at, moment)}${!isDated && ' or earlier'}`],
    ['Link', permalink(now.permalink)],
  ];
  return factsList(facts);
}

function times({ times: rows }: WholeConversation): Html {
  const cells = rows.map(({ status, seconds, visits, is_lower_bound: atLeast }) => [
    statusWord(status),
    `${lengthOf(seconds * SECOND)}${atLeast ? ' or more' : ''}`,
    visits,
  ]);
  const columns = [{ name: 'Status' }, { name: 'Time' }, { name: 'Visits', number: true }];
  return table(
    'Time in status',
    columns,
    cells,
    'The mirror has not seen this conversation for long enough.',
  );
}

/** True if the mirror saw the conversation appear. */
function appeared({ changes }: WholeConversation): boolean {
  const oldest = changes.at(-1);
  return oldest?.field === PRESENCE && oldest.new_value === PRESENT;
}

function timeline(found: WholeConversation, moment: Moment): Html {
  const { changes, now } = found;
  const cut =
    changes.length === MOST_CHANGES &&
    html`<p class="note">Only the newest ${plural(MOST_CHANGES, 'change')}.</p>`;
  return html`${cut}
    <ol class="timeline">
      ${changes.map(
        (change) =>
          html`<li>
            ${moments(change, moment)}
            <p>${changeWords(change)}</p>
          </li>`,
      )}
      ${
        changes.length < MOST_CHANGES &&
        // The change of an appearance says the same.
        !appeared(found) &&
        html`<li>
          <p class="when">${ago(now.first_seen_at, moment)}</p>
          <p>the mirror first saw this conversation</p>
        </li>`
      }
    </ol>`;
}

function moments({ observed_at: seen, previously_seen_at: before }: ChangeRow, moment: Moment): Html {
  const window = before === null ? 'no earlier sighting' : `not before ${exact(before, moment.timezone)}`;
  const length = before === null ? '' : ` (within ${lengthOf(Date.parse(seen) - Date.parse(before))})`;
  return html`<p class="when">
    ${ago(seen, moment)} <span>seen ${exact(seen, moment.timezone)}, ${window}${length}</span>
  </p>`;
}
