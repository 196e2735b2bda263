import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import got, { type Request, type Response } from 'got';
import { limitInterim } from '../../core/abortable.ts';
import { SECOND } from '../../core/clock.ts';
import { codeOf, rejectsCertificate } from '../../core/errors.ts';
import { onOneLine } from '../../core/humanize.ts';
import type { Post } from './send.ts';

const TIME_OUT_MS = 15 * SECOND;

/** INBOX_API_CA_FILE is for the service only. */
const CERTIFICATE_ADVICE =
  ': the certificate of the receiver is not trusted; if it is of your own authority, name that in ' +
  'NODE_EXTRA_CA_CERTS';

/** The codes of a connection that the receiver has closed. */
const CLOSED: ReadonlySet<string | null> = new Set(['ECONNRESET', 'EPIPE']);

/** At most this many characters of the origin of a redirect are shown. */
const LONGEST_ORIGIN = 100;

/** The code of a request that has taken too long. */
const TIMED_OUT = 'ETIMEDOUT';

/** A body of up to this many bytes leaves the process before a receiver can refuse it for its length. */
const SHORT_BODY = 64 * 1024;

/** At most this many bytes of the answer's body are received; its content is ignored. */
const LONGEST_BODY = 64 * 1024;

/**
 * Posts by HTTP within 15 s, without redirects or retries. Only the head of the answer counts: a receiver
 * that accepts a delivery, and breaks off the body of its answer, would otherwise get the delivery again.
 * A receiver that closes the connection under a long body counts as one that answers 413: its answer is often
 * lost if it does not read the body to the end. One that answers nothing in time counts as one that answers
 * 504.
 * A `problem` contains no more of an address than its origin: the rest may hold a token.
 * @param cut aborts the request
 * @param proxyEnv the proxies' variables
 */
export async function postByHttp(
  url: string,
  headers: Record<string, string>,
  body: string,
  cut?: AbortSignal,
  proxyEnv: Readonly<Record<string, string>> = {},
): Promise<Awaited<ReturnType<Post>>> {
  // Not by got's own time-out: it does not end a request whose proxy does not answer CONNECT.
  const timeOut = AbortSignal.timeout(TIME_OUT_MS);
  // The agents close the connection to such a proxy.
  const ways = { proxyEnv: { ...proxyEnv }, timeout: TIME_OUT_MS };
  let head: Response | undefined;
  let problem = 'unknown error';
  try {
    const answer = got.stream.post(url, {
      body,
      headers,
      agent: { http: new HttpAgent(ways), https: new HttpsAgent(ways) },
      signal: AbortSignal.any([timeOut, ...(cut === undefined ? [] : [cut])]),
      decompress: false,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
    });
    answer.once('request', (request) => limitInterim(request, (error) => answer.destroy(error)));
    answer.once('response', (response: Response) => (head = response));
    await receive(answer);
  } catch (error) {
    problem = codeOf(error) ?? problem;
    if (rejectsCertificate(problem)) problem += CERTIFICATE_ADVICE;
  }
  if (head !== undefined)
    return {
      status: head.statusCode,
      retryAfter: head.headers['retry-after'],
      date: head.headers.date,
      problem: redirectOf(url, head),
    };
  const mayBeTooLong = CLOSED.has(problem) && Buffer.byteLength(body) > SHORT_BODY;
  const advice = ': the receiver closed the connection; the delivery may be too long for it';
  return {
    status: mayBeTooLong ? 413 : problem === TIMED_OUT ? 504 : null,
    retryAfter: undefined,
    problem: `no answer (${problem}${mayBeTooLong ? advice : ''})`,
  };
}

/** The problem of a redirect, with the origin to which it leads; null for another answer. */
function redirectOf(url: string, { statusCode, headers: { location } }: Response): string | null {
  if (statusCode < 300 || statusCode > 399 || location === undefined) return null;
  const target = targetOf(location, url);
  return `HTTP ${statusCode}: redirects are not followed, and this one leads to ${target}`;
}

/** A path can have a secret, so it is not named. */
function targetOf(location: string, url: string): string {
  const origin = URL.parse(location, url)?.origin;
  // The origin of an address without a host is 'null'.
  if (origin === undefined || origin === 'null') return 'another address';
  if (origin === new URL(url).origin) return 'another path of the same origin';
  return onOneLine(origin, LONGEST_ORIGIN);
}

/** Receives the answer's body, and ends the request: a receiver may answer before it has read a long one. */
async function receive(answer: Request): Promise<void> {
  let bytes = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > LONGEST_BODY) return;
    }
  } finally {
    answer.destroy();
  }
}
