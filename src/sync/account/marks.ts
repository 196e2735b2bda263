import { DAY } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import { plural } from '../../core/humanize.ts';
import type { Item } from '../../core/lists.ts';
import { type Access, accessId } from '../../core/secrets.ts';
import type { KnownAccount, KnownInbox } from '../../mirror/gate/account.ts';
import type { Page } from '../../service/client.ts';

/** An inbox as the service lists it; `email` is undefined if the row cannot be read. */
export interface ListedInbox {
  readonly id: string;
  readonly email: string | null | undefined;
}

/** At most this many inboxes of each side in the message. */
const NAMED = 3;

/** True if this access was the last one that led to the mirror's account. */
function isProvenBy(known: KnownAccount, access: Access): boolean {
  return known.access === accessId(access);
}

/** True if this access was the last one that led to the mirror's account, and none led to another since. */
export function isCertain(known: KnownAccount, access: Access): boolean {
  return isProvenBy(known, access) && known.refusedSince === null;
}

export function isLive({ deleted }: KnownInbox): boolean {
  return !deleted;
}

export function hasAllIds({ rejects }: Pick<Page, 'rejects'>): boolean {
  return rejects.every(({ id }) => id !== null);
}

export function emailOf({ columns }: Pick<Item, 'columns'>): string | null {
  return columns['email'] as string | null;
}

export function inboxesOf({ items, rejects }: Pick<Page, 'items' | 'rejects'>): ListedInbox[] {
  return [
    ...items.map((item) => ({ id: item.id, email: emailOf(item) })),
    ...rejects.flatMap(({ id }) => (id === null ? [] : { id, email: undefined })),
  ];
}

/**
 * The live inboxes that the service should list: those that its last complete list had. If it had none, those
 * that have been missing for the shortest time: others may be of an account that was replaced. Those that a
 * consent has replaced are expected only if all are.
 */
export function expectedOf(known: readonly KnownInbox[]): readonly KnownInbox[] {
  const live = known.filter(isLive);
  // The latest instant is that of the shortest time.
  const latest = Math.max(...live.map(missingFrom));
  return live.filter((inbox) => missingFrom(inbox) === latest);
}

/**
 * The instant from which an inbox has been missing, epoch ms; infinite if the last list had it; 0 if a
 * consent has replaced it.
 */
function missingFrom({ missingSince, replaced }: KnownInbox): number {
  // Until the pass of the consent has read the whole list, no mark says that the inbox is missing.
  return replaced ? 0 : (missingSince?.getTime() ?? Infinity);
}

/** The live inboxes that are not listed. */
export function lackingIn(known: readonly KnownInbox[], listed: readonly ListedInbox[]): KnownInbox[] {
  const ids = new Set(listed.map(({ id }) => id));
  return known.filter((inbox) => isLive(inbox) && !ids.has(inbox.id));
}

/**
 * Compares the mirror's inboxes with listed ones: by id, and by address where both sides have one.
 * @param isProven false: the address or the key has changed. Suspects and deleted inboxes then count as
 *   unknown, because they may be of an account that was replaced
 */
function compare(known: readonly KnownInbox[], listed: readonly ListedInbox[], isProven = true) {
  const emails = new Map(listed.map(({ id, email }) => [id, email]));
  const isSame = ({ id, email }: KnownInbox): boolean => isSameAddress(email, emails.get(id));
  const listedBefore = expectedOf(known);
  // A suspect under another address speaks against the account, wherever it was before.
  const strangers = known.filter((inbox) => isLive(inbox) && emails.has(inbox.id) && !isSame(inbox));
  const expected = [...new Set([...listedBefore, ...strangers])];
  const present = expected.filter(({ id }) => emails.has(id));
  const alike = present.filter(isSame).length;
  const agreeing = present.filter(({ id, email }) => isKnownSame(email, emails.get(id))).length;
  const contradicting = present.length - alike;
  // Ids alone say little where most of the known addresses are others: a test system may have the same ids.
  // Behind the proven access a team may have changed the only address that the mirror knows.
  const isOnlyAddress = isProven && present.filter(({ email }) => normalised(email) !== '').length === 1;
  const isOutvoted = contradicting > agreeing && !isOnlyAddress;
  const same = isOutvoted ? agreeing : alike;
  const knownIds = new Set((isProven ? known : expected).map(({ id }) => id));
  // A row may be listed twice.
  const unknown = [...emails.keys()].filter((id) => !knownIds.has(id)).length;
  return { expected: expected.length, same, moved: present.length - same, unknown };
}

/** True if both addresses are alike, or one of them is unknown. A service without a null may write "". */
export function isSameAddress(stored: string | null, listed: string | null | undefined): boolean {
  return normalised(stored) === '' || normalised(listed) === '' || isKnownSame(stored, listed);
}

/** True if both addresses are known, and alike. */
function isKnownSame(stored: string | null, listed: string | null | undefined): boolean {
  return normalised(stored) !== '' && normalised(stored) === normalised(listed);
}

function normalised(address: string | null | undefined): string {
  return (address ?? '').trim().toLowerCase();
}

/** By which access a list is read. */
export interface AccountReading {
  /** True for the access that last led to the mirror's account. */
  readonly isProven: boolean;
  /** Now, or the first time that another account showed while the mirror's own has not since, epoch ms. */
  readonly since: number;
}

/** @param now epoch ms */
export function readingOf(known: KnownAccount, access: Access, now: number): AccountReading {
  return { isProven: isProvenBy(known, access), since: known.refusedSince?.getTime() ?? now };
}

/** True if the listed inboxes prove the mirror's account, whatever the further pages hold. */
export function isProof(
  known: readonly KnownInbox[],
  listed: readonly ListedInbox[],
  reading: AccountReading,
): boolean {
  const { expected, same } = compare(known, listed, reading.isProven);
  return !isMost(expected - same, expected) && !replacesMost(known, listed, reading);
}

/**
 * True if a new access lists inboxes that the mirror never had, and less than half of its live ones, suspects
 * of the last day among them. A list that was once cut leaves few others, and these may be shared.
 */
function replacesMost(
  known: readonly KnownInbox[],
  listed: readonly ListedInbox[],
  { isProven, since }: AccountReading,
): boolean {
  if (isProven) return false;
  const emails = new Map(listed.map(({ id, email }) => [id, email]));
  const isRecent = ({ missingSince }: KnownInbox): boolean => Number(missingSince ?? Infinity) > since - DAY;
  const live = known.filter((inbox) => isLive(inbox) && isRecent(inbox));
  const same = live.filter(({ id, email }) => emails.has(id) && isSameAddress(email, emails.get(id))).length;
  const ids = new Set(known.map(({ id }) => id));
  return 2 * same < live.length && listed.some(({ id }) => !ids.has(id));
}

/** True if one of the mirror's inboxes is listed with the address that the mirror knows. */
export function showsAny(
  known: readonly KnownInbox[],
  listed: readonly ListedInbox[],
  { isProven }: Pick<AccountReading, 'isProven'>,
): boolean {
  return compare(known, listed, isProven).same > 0;
}

/**
 * True if the list has inboxes that a consent has replaced, and no more of the expected ones: it may be the
 * list of an earlier account. After a consent to an empty list, those of the mirror are expected themselves.
 */
export function showsReplaced(known: readonly KnownInbox[], listed: readonly ListedInbox[]): boolean {
  const ids = new Set(listed.map(({ id }) => id));
  const expected = new Set(expectedOf(known));
  const isBack = (inbox: KnownInbox): boolean => inbox.replaced && ids.has(inbox.id) && !expected.has(inbox);
  const back = known.filter(isBack).length;
  return back > 0 && back >= compare(known, listed).same;
}

/** True for more than half of all, and for two or more that are exactly half. */
export function isMost(part: number, all: number): boolean {
  return 2 * part > all || (2 * part === all && part >= 2);
}

/**
 * True if the listed inboxes are those of another account: most of the mirror's inboxes are gone or have
 * another address, and others are listed. If it is exactly half, as many others must be listed. Behind a new
 * access, suspects and deleted inboxes count as others, and {@link replacesMost} suffices. Without the
 * complete list, none of the mirror's inboxes may be in it.
 */
export function isOther(
  known: readonly KnownInbox[],
  listed: readonly ListedInbox[],
  { isComplete, ...reading }: AccountReading & { readonly isComplete: boolean },
): boolean {
  const { expected, same, moved, unknown } = compare(known, listed, reading.isProven);
  const came = moved + unknown;
  if (expected === 0 || came === 0) return false;
  if (!isComplete) return same === 0;
  if (replacesMost(known, listed, reading)) return true;
  const missed = expected - same;
  return isMost(missed, expected) && (2 * missed > expected || came >= missed);
}

/**
 * True if a list that {@link isOther} refuses may be the mirror's all the same: the access is the proven one,
 * the list has none of the expected inboxes, and its rows without an id may be these.
 */
export function mayBeOurs(
  known: readonly KnownInbox[],
  listed: readonly ListedInbox[],
  { isProven, lacksIds }: Pick<AccountReading, 'isProven'> & { readonly lacksIds: boolean },
): boolean {
  const { same, moved } = compare(known, listed);
  return isProven && lacksIds && same + moved === 0;
}

/** The error for an account that is not the mirror's. */
export function otherAccount(
  { inboxes, address }: Pick<KnownAccount, 'inboxes' | 'address'>,
  service: { readonly listed: readonly ListedInbox[]; readonly address: string },
): MirrorError {
  const from = address === null ? '' : `, read from ${address}`;
  const ours = inboxes.filter(isLive);
  return new MirrorError(
    'OTHER_ACCOUNT',
    `The service shows another account than this mirror's. The mirror has ${named(ours, service.listed)}` +
      `${from}. The service at ${service.address} shows ${named(service.listed, ours)}. ` +
      'Nothing was written. If INBOX_API_URL or the key is wrong, correct it. If this is another account, ' +
      `give it a mirror of its own: another DATABASE_URL. If ${reasonToAccept(inboxes, service.listed)}, ` +
      'run `inbox-mirror sync --accept-account` once.',
  );
}

/** The error for an account of which only inboxes by their ids are known, and these are not the mirror's. */
export function perhapsOtherAccount(): MirrorError {
  return new MirrorError(
    'OTHER_ACCOUNT',
    'The service does not answer the list of inboxes, and an inbox of this mirror has another address ' +
      'there: it may show another account. No other list was read. Run the command again ' +
      'later; if that list still fails, check INBOX_API_URL and the key.',
  );
}

/** When to accept the listed inboxes, as a clause. A company may have changed the domain of its addresses. */
function reasonToAccept(known: readonly KnownInbox[], listed: readonly ListedInbox[]): string {
  return listed.length > 0 && compare(expectedOf(known), listed).unknown === 0
    ? 'the same inboxes have new addresses, which keeps their rows'
    : 'it shall replace the content of this mirror';
}

/** Names up to 3 inboxes of one side, first those that the other side does not have. */
function named(inboxes: readonly ListedInbox[], others: readonly ListedInbox[]): string {
  const shared = new Set(others.map(({ id }) => id));
  const first = inboxes.toSorted((a, b) => Number(shared.has(a.id)) - Number(shared.has(b.id)));
  if (inboxes.length === 0) return 'no inbox';
  const names = first.slice(0, NAMED).map(({ id, email }) => `${id} (${email ?? 'no address'})`);
  const more = inboxes.length > NAMED ? ', …' : '';
  return `${plural(inboxes.length, 'inbox')}: ${names.join(', ')}${more}`;
}
