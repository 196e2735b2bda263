import { draw, pick, type Random } from './random.ts';
import type { InboxFields, SandboxConversation, SandboxTag, SandboxUser } from './rows.ts';

const INBOXES = [
  'Support',
  'Billing',
  'Returns',
  'Sales',
  'Logistics',
  'Partners',
  'Careers',
  'Press',
  'Legal',
  'Wholesale',
];
const TAGS = [
  'Urgent',
  'Refund',
  'VIP',
  'Bug',
  'Invoice',
  'Damaged parcel',
  'Late delivery',
  'Feature request',
  'Duplicate',
  'Waiting for customer',
  'Escalated',
  'Warranty',
  'Cancellation',
  'Spam?',
  'Follow-up',
  'Naïve question',
];
const COLOURS = [
  '#E4572E',
  '#17BEBB',
  '#FFC914',
  '#2E282A',
  '#76B041',
  '#5F0F40',
  '#0F4C5C',
  '#9A031E',
  '#FB8B24',
  '#3D5A80',
];
const FIRST_NAMES = [
  'Amara',
  'Beatriz',
  'Chen',
  'Daniel',
  'Elif',
  'Freya',
  'Giulia',
  'Hassan',
  'Ingrid',
  'Jonas',
  'Kavya',
  'Liam',
  'Mei',
  'Nadia',
  'Oluwaseun',
  'Priya',
  'Quentin',
  'Rosa',
  'Søren',
  'Tomás',
];
const LAST_NAMES = [
  'Almeida',
  'Bergström',
  'Costa',
  'Dubois',
  'Eriksen',
  'Fischer',
  'García',
  'Haddad',
  'Iyer',
  'Jensen',
  'Kowalski',
  'Lindqvist',
  "O'Brien",
  'Müller',
  'Nakamura',
  'Okafor',
  'Petrov',
  'Rahman',
  'Silva',
  'Tanaka',
];
const DOMAINS = ['example.com', 'example.org', 'example.net'];

type WithoutId<T> = Omit<T, 'id'>;

/** Invents an inbox; `nth` (from 0) determines its name. One inbox in seven is not authorised. */
export function inventInbox(
  random: Random,
  nth: number,
  now: number,
  sourceUserId: string,
): WithoutId<InboxFields> {
  const round = Math.floor(nth / INBOXES.length);
  const name = `${INBOXES[nth % INBOXES.length]}${round === 0 ? '' : ` ${round + 1}`}`;
  const address = name.toLowerCase().replace(' ', '');
  const created = Math.floor(now / 1000) - 86_400 * (600 + draw(random, 400));
  return {
    display_name: name,
    channel_type: 'email',
    email: `${address}@example.com`,
    inbox_type: 'user',
    is_authorised: nth % 7 !== 5,
    source_user: { id: sourceUserId, email: `${address}.owner@example.com` },
    created_at: created,
    updated_at: created + draw(random, 86_400 * 500),
  };
}

/** Invents a user; `nth` (from 0) keeps the e-mail addresses unique. */
export function inventUser(random: Random, nth: number): WithoutId<SandboxUser> {
  const first = pick(random, FIRST_NAMES);
  const last = pick(random, LAST_NAMES);
  // NFKD separates accents from their letters, but not the stroke from ø.
  const plain = `${first}.${last}`
    .toLowerCase()
    .replaceAll('ø', 'o')
    .normalize('NFKD')
    .replaceAll(/[^a-z.]/g, '');
  return {
    first_name: first,
    last_name: last,
    email: `${plain}${nth + 1}@${pick(random, DOMAINS, 2)}`,
    // 555-0100 to 555-0199 are reserved for fiction.
    phone_number: `+1${201 + draw(random, 700)}55501${String(draw(random, 100)).padStart(2, '0')}`,
    is_joined: random() < 0.9,
  };
}

/** Invents a tag; `nth` (from 0, within its inbox) determines its name. */
export function inventTag(random: Random, nth: number, now: number): WithoutId<SandboxTag> {
  const round = Math.floor(nth / TAGS.length);
  return {
    name: `${TAGS[nth % TAGS.length]}${round === 0 ? '' : ` ${round + 1}`}`,
    color_code: pick(random, COLOURS),
    type: 'user',
    created_at: Math.floor(now / 1000) - draw(random, 86_400 * 500),
  };
}

/** 16 hex digits; the first 11 are Unix milliseconds (docs/service.md). */
export function inventThreadId(random: Random, at: number): string {
  return (
    Math.floor(at).toString(16).padStart(11, '0') +
    draw(random, 16 ** 5)
      .toString(16)
      .padStart(5, '0')
  );
}

/** Invents a new conversation: open, unassigned and untagged. */
export function inventConversation(
  random: Random,
  at: number,
  inboxId: string,
  id: string,
): SandboxConversation {
  return {
    id,
    assignee: null,
    status: 'open',
    tag_ids: [],
    gmail_thread_id: inventThreadId(random, at),
    private_permalink: `https://mail.example.com/u/0/#inbox/${inboxId}/conversation/${id}`,
    public_permalink: `https://share.example.org/c/${shareCode(random)}${shareCode(random)}`,
  };
}

function shareCode(random: Random): string {
  return draw(random, 2 ** 32).toString(36);
}
