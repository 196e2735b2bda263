import type { SandboxConversation } from './rows.ts';

export interface MessageIds {
  hiver_message_id: string;
  gmail_message_id: string;
}

/**
 * The messages of a conversation, oldest first: one to four, derived from its ids, so that nothing need be kept for each.
 * The first message's provider id is the thread's own, as the provider has it.
 */
export function messageIds({ id, gmail_thread_id: thread }: SandboxConversation): MessageIds[] {
  const count = 1 + (Number.parseInt(thread.at(-1) ?? '0', 16) % 4);
  const begun = Number.parseInt(thread.slice(0, 11), 16);
  return Array.from({ length: count }, (_, nth) => ({
    hiver_message_id: String(BigInt(id) * 8n + BigInt(nth)),
    gmail_message_id: (begun + nth * 5_400_000).toString(16).padStart(11, '0') + thread.slice(11),
  }));
}

/** The service's id of the message that `named` means, by either of its ids; undefined when no conversation has it. */
export function findMessage(
  conversations: Iterable<SandboxConversation>,
  named: Partial<MessageIds>,
): string | undefined {
  const { hiver_message_id: own, gmail_message_id: providers } = named;
  for (const conversation of conversations) {
    // All messages of a thread share its last five digits: most conversations are passed over without deriving anything.
    if (own === undefined && conversation.gmail_thread_id.slice(11) !== providers?.slice(11)) continue;
    const message = messageIds(conversation).find(
      (ids) => ids.hiver_message_id === own || ids.gmail_message_id === providers,
    );
    if (message !== undefined) return message.hiver_message_id;
  }
  return undefined;
}
