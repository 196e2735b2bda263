import type { ListFreshness } from '../../query/figures/freshness.ts';
import { type MissingRows, missingWords } from '../../query/figures/missing.ts';
import { html, type Html } from './html.ts';
import { ago, type Moment } from './words.ts';

/** True if a list is staler than its schedule promises, or was never complete. */
export function isLate(list: ListFreshness | undefined): boolean {
  return list?.state === 'stale' || list?.state === 'never';
}

/**
 * As of when all conversations are complete: of one inbox, or of all. It is amber if one list is late.
 * @param inboxId null: all inboxes
 * @returns undefined for an inbox that is gone: it has no list any more
 */
export function stampOf(
  lists: readonly ListFreshness[],
  moment: Moment,
  inboxId: string | null = null,
): Html | undefined {
  const own = lists.filter(
    ({ list, inbox_id: id }) => list === 'conversations' && (inboxId === null || id === inboxId),
  );
  if (inboxId !== null && own.length === 0) return undefined;
  const instants = own.flatMap(({ complete_as_of: asOf }) => (asOf === null ? [] : [Date.parse(asOf)]));
  if (instants.length === 0)
    return html`<p class="stamp late">Not complete yet: the first copy is being made</p>`;
  const asOf = html`As of ${ago(new Date(Math.min(...instants)), moment)}`;
  const never = own.length - instants.length;
  const stale = own.filter(({ state }) => state === 'stale').length;
  const of = (count: number): string => (own.length === 1 ? '' : ` in ${count} of ${own.length} inboxes`);
  if (stale > 0) return html`<p class="stamp late">${asOf}: older than its schedule allows${of(stale)}</p>`;
  if (never > 0) return html`<p class="stamp late">${asOf}; not complete yet${of(never)}</p>`;
  return html`<p class="stamp">${asOf}</p>`;
}

/** Above figures that count rows which the service lacks. */
export function missingNotice(missing: readonly MissingRows[]): Html | null {
  const words = missingWords(missing);
  if (words === null) return null;
  return html`<p class="verdict late">
    ${words}. The <a href="/engine">engine room</a> shows the command that confirms it.
  </p>`;
}
