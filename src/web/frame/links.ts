import type { FastifyRequest } from 'fastify';
import { html, type Html } from './html.ts';

/** The page of an inbox. */
export function inboxPath(inboxId: string): string {
  return `/inboxes/${encodeURIComponent(inboxId)}`;
}

/** The page of a conversation. */
export function conversationPath(inboxId: string, conversationId: string): string {
  return `${inboxPath(inboxId)}/conversations/${encodeURIComponent(conversationId)}`;
}

/** The form that places an order, and the one that cancels it. */
export const ORDERS_PATH = '/engine/orders';
export const CANCEL_PATH = `${ORDERS_PATH}/:order/cancel`;

/** The page of an order. */
export function orderPath(id: number): string {
  return `${ORDERS_PATH}/${id}`;
}

/** Where the form goes that cancels an order. */
export function cancelPath(id: number): string {
  return CANCEL_PATH.replace(':order', String(id));
}

/** A link that opens a conversation in the service. Only web addresses become links. */
export function permalink(address: string | null): Html {
  if (address === null || !/^https?:\/\//i.test(address)) return html`<span class="absent">no link</span>`;
  return html`<a href="${address}" rel="noreferrer noopener" target="_blank"
    >Open in the service<span class="hidden">, in a new tab</span></a
  >`;
}

/** The values in the query of a request's address. A query may contain further question marks. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
}
