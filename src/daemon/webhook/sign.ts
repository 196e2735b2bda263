import { Webhook } from 'standardwebhooks';

/** A delivery of a webhook, before it is signed. */
export interface Unsigned {
  /** Without a dot, which would be ambiguous in what is signed. */
  readonly id: string;
  readonly at: Date;
  readonly body: string;
}

/** The headers of a delivery that is signed as Standard Webhooks specifies. */
export function signedHeaders(secret: string, { id, at, body }: Unsigned): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
}
