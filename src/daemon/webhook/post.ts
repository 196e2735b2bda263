import got, { type Response } from 'got';
import type { Post } from './deliver.ts';

const TIME_OUT_MS = 15_000;

/** Nobody reads the answer's body. */
const LONGEST_BODY = 64 * 1024;

/**
 * Posts by HTTP: no redirects, no retries of its own, 15 s in all. The answer's head counts, whatever becomes of its body: else who has taken a
 * delivery would get it again and again. The address may hold a token and stands in no problem's text.
 * @param cut ends it at once
 */
export async function postByHttp(
  url: string,
  headers: Record<string, string>,
  body: string,
  cut?: AbortSignal,
): Promise<Awaited<ReturnType<Post>>> {
  let head: Response | undefined;
  let problem = 'unknown error';
  try {
    const answer = got.stream.post(url, {
      body,
      headers,
      ...(cut === undefined ? {} : { signal: cut }),
      decompress: false,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      timeout: { request: TIME_OUT_MS },
    });
    answer.once('response', (response: Response) => (head = response));
    let bytes = 0;
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > LONGEST_BODY) break;
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error) problem = String(error.code);
  }
  return head === undefined
    ? { status: null, retryAfter: undefined, problem: `no answer (${problem})` }
    : { status: head.statusCode, retryAfter: head.headers['retry-after'], problem: null };
}
