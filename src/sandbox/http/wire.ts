import { type ExactNumber, exactNumber } from '../../core/json.ts';
import type { SandboxOptions } from '../options.ts';
import type { SandboxConversation, SandboxInbox, SandboxTag, SandboxUser } from '../world/rows.ts';

type WireId = string | number | ExactNumber;

/** Converts epoch seconds to the form of the option `timestamps`. */
function instantOf(form: SandboxOptions['timestamps'], seconds: number): number | string {
  if (form === 'iso') return new Date(seconds * 1000).toISOString();
  return seconds * { seconds: 1, milliseconds: 1000, microseconds: 1_000_000 }[form];
}

/** Converts rows to the service's JSON. The options choose the JSON type of ids and the form of instants. */
export class Wire {
  /** Converts an id to a number if `idType` is `number`, else to a string. */
  readonly id: (id: string) => WireId;
  /**
   * Converts an id that the vendor's examples show as a number, such as that of a listed conversation or of
   * an assignee: to a string if `idType` is `string`, else to a number.
   */
  readonly exampleId: (id: string) => WireId;

  readonly #instant: (seconds: number) => number | string;

  constructor({ idType, timestamps }: Pick<SandboxOptions, 'idType' | 'timestamps'>) {
    this.id = idType === 'number' ? exactNumber : String;
    this.#instant = (seconds) => instantOf(timestamps, seconds);
    this.exampleId = idType === 'string' ? String : exactNumber;
  }

  readonly inbox = (inbox: SandboxInbox) => ({
    id: this.id(inbox.id),
    display_name: inbox.display_name,
    channel_type: inbox.channel_type,
    email: inbox.email,
    inbox_type: inbox.inbox_type,
    is_authorised: inbox.is_authorised,
    source_user: { id: this.id(inbox.source_user.id), email: inbox.source_user.email },
    created_at: this.#instant(inbox.created_at),
    updated_at: this.#instant(inbox.updated_at),
  });

  readonly user = (user: SandboxUser) => ({ ...user, id: this.id(user.id) });

  readonly tag = (tag: SandboxTag) => ({
    ...tag,
    id: this.id(tag.id),
    created_at: this.#instant(tag.created_at),
  });

  readonly conversation = (conversation: SandboxConversation) => ({
    id: this.exampleId(conversation.id),
    ...this.#assignee(conversation),
    status: conversation.status,
    tag_ids: conversation.tag_ids.map(this.id),
    gmail_thread_id: conversation.gmail_thread_id,
    private_permalink: conversation.private_permalink,
    public_permalink: conversation.public_permalink,
  });

  /** Writes "unassigned" in one of seven shapes: the service's is unknown. A conversation keeps its shape. */
  #assignee({ id, assignee }: SandboxConversation): object {
    if (assignee !== null) {
      return {
        assignee: {
          assignee_type: assignee.assignee_type,
          assignee_id: this.exampleId(assignee.assignee_id),
        },
      };
    }
    // Derive the shape from the last four digits. Without the division, odd ids would not use every shape.
    return UNASSIGNED[Math.floor(Number(id.slice(-4)) / 3) % UNASSIGNED.length] ?? {};
  }
}

const UNASSIGNED: readonly object[] = [
  { assignee: null },
  {},
  { assignee: {} },
  { assignee: { assignee_type: 'user', assignee_id: null } },
  { assignee: [] },
  { assignee: '' },
  { assignee: 0 },
];
