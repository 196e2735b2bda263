import { randomUUID } from 'node:crypto';
import { EXIT } from '../../../core/errors.ts';
import { duration } from '../../../core/humanize.ts';
import { targetOf } from '../../../mirror/mirror.ts';
import type { Session } from '../../../session/session.ts';

/** How the receiver of the webhook took a test delivery. */
interface Delivered {
  readonly exitCode: number;
  readonly verdict: 'ok' | 'failed';
  readonly message: string;
}

/**
 * Sends the webhook one signed delivery without changes (docs/webhooks.md). Its place in the feed stays. If
 * the receiver accepts it, the daemon no longer waits with the changes.
 */
export async function deliverTest(
  { config, clock, userAgent, mirror }: Pick<Session, 'config' | 'clock' | 'userAgent' | 'mirror'>,
  { signal, hasMirror }: { signal: AbortSignal; hasMirror: boolean },
): Promise<Delivered> {
  const { webhook, network } = config;
  if (webhook === null)
    return {
      exitCode: EXIT.usage,
      verdict: 'failed',
      message: 'WEBHOOK_URL is not set, so there is no receiver to test',
    };
  const { postByHttp } = await import('../../../daemon/webhook/post.ts');
  const { signedHeaders } = await import('../../../daemon/webhook/sign.ts');
  const at = new Date(clock.now());
  const body = JSON.stringify({ type: 'webhook.test', timestamp: at.toISOString(), data: { changes: [] } });
  const headers = signedHeaders(webhook.secret, { id: `test_${randomUUID()}`, at, body });
  const named = { ...headers, 'user-agent': userAgent };
  const { status, problem } = await postByHttp(webhook.url, named, body, signal, network.proxyEnv);
  const took = duration(clock.now() - at.getTime());
  if (status !== null && status >= 200 && status < 300) {
    const hasWaited = hasMirror && (await mirror.deliveries.endWait(targetOf(webhook.url), clock.now()));
    const news = hasWaited ? '; the changes that wait follow within a minute, if the daemon runs' : '';
    return {
      exitCode: EXIT.done,
      verdict: 'ok',
      message: `accepts a signed test delivery (HTTP ${status}, in ${took})${news}`,
    };
  }
  const answer = problem ?? `HTTP ${status}`;
  return {
    exitCode: EXIT.unexpected,
    verdict: 'failed',
    message:
      `does not accept a signed test delivery: ${answer}. ` +
      'Check WEBHOOK_URL, and that the receiver has the secret of WEBHOOK_SECRET and answers 2xx.',
  };
}
