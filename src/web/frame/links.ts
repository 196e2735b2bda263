import { html, type Html } from './html.ts';

/** The page of an inbox. */
export function inboxPath(inboxId: string): string {
  return `/inboxes/${encodeURIComponent(inboxId)}`;
}

/** The page of a conversation. */
export function conversationPath(inboxId: string, conversationId: string): string {
  return `${inboxPath(inboxId)}/conversations/${encodeURIComponent(conversationId)}`;
}

/** A link that opens a conversation in the service. Only web addresses become links. */
export function permalink(address: string | null): Html {
  if (address === null || !/^https?:\/\//i.test(address)) return html`<span class="absent">no link</span>`;
  return html`<a href="${address}" rel="noreferrer noopener" target="_blank"
    >open<span class="hidden"> in the service, in a new tab</span></a
  >`;
}
