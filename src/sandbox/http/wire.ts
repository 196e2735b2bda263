import type { ExactNumber } from '../../core/json.ts';
import type { SandboxOptions } from '../options.ts';
import type { SandboxConversation, SandboxInbox, SandboxTag, SandboxUser } from '../world/rows.ts';

type WireId = string | number | ExactNumber;

/** Converts an id to a JSON number that keeps every digit, even past 2^53. */
function exactNumber(id: string): number | ExactNumber {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : rawNumber(JSON, id);
}

// `JSON.rawJSON` is ES2025; TypeScript's library does not declare it yet.
function rawNumber(json: object, digits: string): ExactNumber {
  if (!knowsRawJson(json)) throw new TypeError('JSON.rawJSON is missing: the sandbox needs Node 22 or later');
  return json.rawJSON(digits);
}

function knowsRawJson(json: object): json is { rawJSON(text: string): ExactNumber } {
  return 'rawJSON' in json;
}

/** Converts rows to the service's JSON. `idType` chooses the JSON type of ids (docs/service.md). */
export class Wire {
  /** Converts an id to a number if `idType` is `number`, else to a string. */
  readonly id: (id: string) => WireId;
  /**
   * Converts a conversation row's id or assignee id: to a string if `idType` is `string`, else to a number.
   */
  readonly #conversationId: (id: string) => WireId;

  constructor(idType: SandboxOptions['idType']) {
    this.id = idType === 'number' ? exactNumber : String;
    this.#conversationId = idType === 'string' ? String : exactNumber;
  }

  readonly inbox = (inbox: SandboxInbox) => ({
    id: this.id(inbox.id),
    display_name: inbox.display_name,
    channel_type: inbox.channel_type,
    email: inbox.email,
    inbox_type: inbox.inbox_type,
    is_authorised: inbox.is_authorised,
    source_user: { id: this.id(inbox.source_user.id), email: inbox.source_user.email },
    created_at: inbox.created_at,
    updated_at: inbox.updated_at,
  });

  readonly user = (user: SandboxUser) => ({ ...user, id: this.id(user.id) });

  readonly tag = (tag: SandboxTag) => ({ ...tag, id: this.id(tag.id) });

  readonly conversation = (conversation: SandboxConversation) => ({
    id: this.#conversationId(conversation.id),
    ...this.#assignee(conversation),
    status: conversation.status,
    tag_ids: conversation.tag_ids.map(this.id),
    gmail_thread_id: conversation.gmail_thread_id,
    private_permalink: conversation.private_permalink,
    public_permalink: conversation.public_permalink,
  });

  /** Writes "unassigned" in one of four shapes: the service's is unknown. A conversation keeps its shape. */
  #assignee({ id, assignee }: SandboxConversation): object {
    if (assignee !== null) {
      return {
        assignee: {
          assignee_type: assignee.assignee_type,
          assignee_id: this.#conversationId(assignee.assignee_id),
        },
      };
    }
    // Derive the shape from the last four digits. Without the division, odd ids would use two shapes only.
    switch (Math.floor(Number(id.slice(-4)) / 3) % 4) {
      case 0:
        return { assignee: null };
      case 1:
        return {};
      case 2:
        return { assignee: {} };
      default:
        return { assignee: { assignee_type: 'user', assignee_id: null } };
    }
  }
}
