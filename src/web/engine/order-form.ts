import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../core/clock.ts';
import { LIST_NAMES, type ListName } from '../../core/lists.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import { type Choice, readChoices } from '../../query/figures/changes.ts';
import { sendPage } from '../frame/answer.ts';
import type { Desk } from '../frame/desk.ts';
import { fieldsOf, type FormTokens } from '../frame/forms.ts';
import { html, type Html } from '../frame/html.ts';
import { faultPage, type Frame, select } from '../frame/layout.ts';
import { CANCEL_PATH, ORDERS_PATH, orderPath } from '../frame/links.ts';

/** Hands passes to the daemon, and takes them back. */
export interface OrderBook {
  /** @param now epoch ms */
  place(spec: PassSpec, now: number): Promise<{ readonly id: number }>;
  /** @returns false if the order has ended, or there is none */
  cancel(id: number, now: number): Promise<boolean>;
}

/** The kinds of orders in words. */
const KINDS = {
  sync: 'Read once (sync)',
  resync: 'Read from the first page (resync)',
} as const satisfies Record<PassSpec['kind'], string>;

/** The lists to choose from, and what a choice reads. The list of the inboxes belongs to no inbox. */
const LISTS = {
  conversations: 'conversations',
  users: 'users',
  tags: 'tags',
  inboxes: 'the inboxes themselves',
} as const satisfies Record<ListName, string>;

/** The `requested_by` of the orders from this form: the daemon does not know people by name. */
export const BY_PAGE = 'a person, on the web page';

/** The form that places an order. */
export function orderForm(inboxes: readonly Choice[], token: Html): Html {
  const kinds = Object.entries(KINDS).map(([id, name]) => ({ id, name }));
  const lists = Object.entries(LISTS).map(([id, name]) => ({ id, name }));
  return html`<form class="filter" method="post" action="${ORDERS_PATH}">
    ${token}${select('kind', 'Order', null, kinds)} ${select('list', 'What to read', 'all lists', lists)}
    ${select('inbox', 'Of which inbox', 'all inboxes', inboxes)}
    <button>Place the order</button>
  </form>`;
}

export interface OrderFormOptions {
  readonly desk: Desk;
  readonly clock: Pick<Clock, 'now'>;
  readonly orders: OrderBook;
  /** Why the database does not let the daemon work; null if it does. */
  readonly fault: () => string | null;
  readonly tokens: FormTokens;
  readonly frame: Frame;
}

/** Adds the forms that place and cancel an order. Both lead to the order's page. */
export function addOrders(
  inside: FastifyInstance,
  { desk, clock, orders, fault, tokens, frame }: OrderFormOptions,
): void {
  const refuse = async (
    request: FastifyRequest,
    reply: FastifyReply,
    [status, title, sentence]: readonly [number, string, string],
  ): Promise<FastifyReply> => await sendPage(request, reply.code(status), faultPage(title, sentence, frame));

  /** Why no form is carried out now; null if it is. */
  const refusalOf = (request: FastifyRequest): readonly [number, string, string] | null => {
    if (!tokens.accepts(request)) return STRANGE;
    const why = fault();
    return why === null ? null : [503, 'The daemon takes no orders now', why];
  };

  inside.post(ORDERS_PATH, async (request, reply) => {
    const refusal = refusalOf(request);
    if (refusal !== null) return await refuse(request, reply, refusal);
    const { inboxes } = await desk.quick('choices', readChoices);
    const spec = specOf(fieldsOf(request), inboxes);
    if (spec === null) return await refuse(request, reply, NO_ORDER);
    const { id } = await orders.place(spec, clock.now());
    desk.forget('engine');
    return await reply.redirect(orderPath(id), 303);
  });
  inside.post(CANCEL_PATH, async (request, reply) => {
    const refusal = refusalOf(request);
    if (refusal !== null) return await refuse(request, reply, refusal);
    const { order = '' } = request.params as { order?: string };
    if (!/^\d{1,9}$/.test(order)) return await refuse(request, reply, NO_ORDER);
    // An order that has ended meanwhile says so on its page.
    await orders.cancel(Number(order), clock.now());
    desk.forget('engine');
    desk.forget(`order ${order}`);
    return await reply.redirect(orderPath(Number(order)), 303);
  });
}

const STRANGE = [
  403,
  'This form is not valid any more',
  'The daemon did nothing: the form is from before its start or your login, or from another site. ' +
    'Go back, load the page again, and send the form then.',
] as const;

const NO_ORDER = [
  400,
  'There is no such order',
  'The daemon did nothing. Use the form of the page.',
] as const;

/** The pass that a form asks for; null if a field has a value that the form does not offer. */
function specOf(fields: URLSearchParams, inboxes: readonly Choice[]): PassSpec | null {
  const [kind, list, inbox] = ['kind', 'list', 'inbox'].map((name) => fields.get(name) ?? '');
  if (kind !== 'sync' && kind !== 'resync') return null;
  const lists = list === '' ? LIST_NAMES : LIST_NAMES.filter((name) => name === list);
  if (lists.length === 0 || (inbox !== '' && !inboxes.some(({ id }) => id === inbox))) return null;
  return {
    kind,
    lists,
    inboxId: list === 'inboxes' ? null : inbox || null,
    // Only a person who has seen what would be deleted accepts it, by the command.
    acceptDeletes: false,
    acceptAccount: false,
    requestedBy: BY_PAGE,
  };
}
