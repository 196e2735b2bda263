import { HOUR } from '../../core/clock.ts';
import type { SandboxConversation } from './rows.ts';

export interface MessageIds {
  hiver_message_id: string;
  gmail_message_id: string;
}

/**
 * Returns the ids of a conversation's messages, oldest first. There are one to four, derived from the
 * conversation's ids, so the sandbox stores no messages. As at the mail provider, the first message's
 * provider id is the thread id.
 */
export function messageIds({ id, gmail_thread_id: thread }: SandboxConversation): MessageIds[] {
  const count = 1 + (Number.parseInt(thread.at(-1) ?? '0', 16) % 4);
  const startedAt = Number.parseInt(thread.slice(0, 11), 16);
  return Array.from({ length: count }, (_, nth) => ({
    hiver_message_id: String(BigInt(id) * 8n + BigInt(nth)),
    gmail_message_id: (startedAt + nth * 1.5 * HOUR).toString(16).padStart(11, '0') + thread.slice(11),
  }));
}

/**
 * Finds a message by either of its ids. `gmail_message_id` may also be the message's global SMTP id
 * (spec §2.4), `<GMAIL_MESSAGE_ID@mail.example.com>` in the sandbox.
 * @returns the message's id at the service, and its conversation; undefined if there is no such message
 */
export function findMessage(
  conversations: Iterable<SandboxConversation>,
  wanted: Partial<MessageIds>,
): { messageId: string; conversation: SandboxConversation } | undefined {
  const serviceId = wanted.hiver_message_id;
  const providerId = wanted.gmail_message_id?.replace(/^<(.*)@mail\.example\.com>$/, '$1');
  for (const conversation of conversations) {
    // All messages of a thread share its last five digits, which rules most conversations out cheaply.
    if (serviceId === undefined && conversation.gmail_thread_id.slice(11) !== providerId?.slice(11)) continue;
    const message = messageIds(conversation).find(
      (ids) => ids.hiver_message_id === serviceId || ids.gmail_message_id === providerId,
    );
    if (message !== undefined) return { messageId: message.hiver_message_id, conversation };
  }
  return undefined;
}
