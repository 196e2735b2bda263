import {
  type Choice,
  type FeedFilter,
  MOST_SHOWN,
  readChoices,
  readNewest,
} from '../../query/figures/changes.ts';
import { readFreshness } from '../../query/figures/freshness.ts';
import { html, type Html } from '../frame/html.ts';
import { type PageContent, section, select } from '../frame/layout.ts';
import { stampOf } from '../frame/stamp.ts';
import type { Visit } from '../pages.ts';
import { feedRow } from './rows.ts';

/** The fields to choose from, with their words. */
const FIELDS = [
  ['status', 'status'],
  ['assignee_id', 'assignee'],
  ['tags', 'tags'],
  ['presence', 'appeared or gone'],
] as const;

const NOTHING = html`<p class="empty">No change fits. Changes appear here once the mirror sees them.</p>`;

/** The filter that an address asks for. */
export function filterOf(query: URLSearchParams): FeedFilter {
  const value = (name: string): string | undefined => query.get(name) || undefined;
  return { inbox: value('inbox'), field: value('field'), person: value('person') };
}

/** A change's id in an address; null: none, or not an id. */
export function idOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** `/feed`: what changed, the newest first, and what changes now. */
export async function feedPage({ desk, moment, query }: Visit): Promise<PageContent> {
  const filter = filterOf(query);
  const before = idOf(query.get('before'));
  const { changes, choices, lists, newest } = await desk.quick(
    `feed ${JSON.stringify([filter, before])}`,
    async (read) => ({
      // Read first: a change after it comes live, and none is shown twice.
      newest: await readNewest(read, {}, null),
      changes: await readNewest(read, filter, before),
      choices: await readChoices(read),
      lists: await readFreshness(read),
    }),
  );
  const after = Math.max(newest[0]?.id ?? 0, changes[0]?.id ?? 0);
  const address = new URLSearchParams(
    Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
  const live = before === null && `/feed/live?${withId(address, 'after', after)}`;
  const oldest = changes.length === MOST_SHOWN ? changes.at(-1)?.id : undefined;
  const older =
    oldest !== undefined &&
    html`<p><a href="/feed?${withId(address, 'before', oldest)}">Older changes</a></p>`;
  return {
    title: 'Changes',
    active: '/feed',
    stamp: stampOf(lists, moment),
    body: html`${section('Show only', filterForm(filter, choices), { wide: true })}
      <section class="card wide">
        <h2>What changed</h2>
        ${
          live === false
            ? html`<p class="note"><a href="/feed?${String(address)}">To the newest changes</a></p>`
            : html`<p class="note" role="status" data-live-state hidden></p>`
        }
        ${changes.length === 0 && NOTHING}
        <div class="scroll" role="region" aria-label="Changes" tabindex="0">
          <table>
            <caption class="hidden">
              Changes, the newest first
            </caption>
            <thead>
              <tr>
                <th scope="col">Seen</th>
                <th scope="col">Inbox</th>
                <th scope="col">Item</th>
                <th scope="col">Change</th>
                <th scope="col">Happened within</th>
              </tr>
            </thead>
            <tbody ${live !== false && html`data-live="${live}"`}>
              ${changes.map((change) => feedRow(change, moment))}
            </tbody>
          </table>
        </div>
        ${older}
      </section>`,
  };
}

function withId(address: URLSearchParams, name: string, id: number): string {
  const changed = new URLSearchParams(address);
  changed.set(name, String(id));
  return String(changed);
}

function filterForm(
  { inbox, field, person }: FeedFilter,
  { inboxes, people }: { readonly inboxes: readonly Choice[]; readonly people: readonly Choice[] },
): Html {
  const fields = FIELDS.map(([id, name]) => ({ id, name }));
  return html`<form class="filter" method="get" action="/feed">
    ${select('inbox', 'Inbox', 'all inboxes', inboxes, inbox)}
    ${select('field', 'Field', 'all fields', fields, field)}
    ${select('person', 'Person', 'everyone', people, person)}
    <button>Show</button>
  </form>`;
}
