import type { Clock } from '../../core/clock.ts';
import { namedChangeAsJson } from '../../mirror/mirror.ts';
import type { NamedChange } from '../../mirror/items/names.ts';
import type { Receiver } from '../../session/config/parsers.ts';
import { signedHeaders } from './sign.ts';

/**
 * If no answer arrived, `problem` names the reason. `status` is then null, or 413 or 504 if fewer changes may
 * be accepted. For a redirect, `problem` says where it leads.
 */
export interface Answer {
  readonly status: number | null;
  readonly retryAfter: string | undefined;
  /** The `Date` header: the receiver's clock. */
  readonly date?: string | undefined;
  readonly problem: string | null;
}

/** Posts a body. Never rejects. */
export type Post = (url: string, headers: Record<string, string>, body: string) => Promise<Answer>;

/** The means to send a delivery, and its receiver. */
export interface Sending {
  readonly clock: Clock;
  readonly post: Post;
  readonly webhook: Receiver;
}

/** The HTTP statuses with which a receiver refuses the content of a body: it is bad, or too large. */
export const CONTENT_REFUSED: ReadonlySet<number | null> = new Set([400, 413]);

/** The HTTP statuses after which fewer changes may be accepted: also those of a receiver that is too slow. */
export const TOO_MUCH: ReadonlySet<number | null> = new Set([...CONTENT_REFUSED, 408, 504]);

/**
 * Posts one change. If the receiver refuses its content, the change is sent again after a pause without the
 * values of its item, which can be long: the receiver then gets what versions without these values sent.
 */
export async function sendAlone(
  deps: Sending,
  change: NamedChange,
  pause: () => Promise<void>,
): Promise<Answer> {
  const answer = await send(deps, [change]);
  if (change.itemValues === null || !CONTENT_REFUSED.has(answer.status)) return answer;
  await pause();
  return await send(deps, [{ ...change, itemValues: null, itemNames: null }]);
}

/** Posts changes in one signed delivery. A text that is too long to be made is refused as too large. */
export async function send(
  { clock, post, webhook }: Sending,
  changes: readonly NamedChange[],
): Promise<Answer> {
  const now = new Date(clock.now());
  let body: string;
  try {
    body = JSON.stringify({
      type: 'changes.observed',
      timestamp: now.toISOString(),
      data: { changes: changes.map(namedChangeAsJson) },
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { status: 413, retryAfter: undefined, problem: `the delivery is too long: ${error.message}` };
  }
  // The epoch tells ids apart that a restored backup uses again.
  const id = `changes_${changes[0]?.id}_${changes.at(-1)?.cursor}`;
  return await post(webhook.url, signedHeaders(webhook.secret, { id, at: now, body }), body);
}

export function isAccepted(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Why a delivery was not accepted, in a few words. */
export function causeOf({ status, problem }: Answer): string {
  return problem ?? `HTTP ${status}`;
}
