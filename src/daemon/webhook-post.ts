import got from 'got';
import type { Post } from './webhooks.ts';

const TIME_OUT_MS = 15_000;
/** Nobody reads the answer's body. */
const LONGEST_BODY = 64 * 1024;

/** Posts by HTTP: no redirects, no retries of its own, 15 s in all. The address may hold a token and stands in no problem's text. */
export const postByHttp: Post = async (url, headers, body) => {
  try {
    const enough = new AbortController();
    const request = got.post(url, {
      body,
      signal: enough.signal,
      headers,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      timeout: { request: TIME_OUT_MS },
    });
    void request.on('downloadProgress', ({ transferred }: { transferred: number }) => {
      if (transferred > LONGEST_BODY) enough.abort();
    });
    const { statusCode, headers: answered } = await request;
    return { status: statusCode, retryAfter: answered['retry-after'], problem: null };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { status: null, retryAfter: undefined, problem: `no answer (${code})` };
  }
};
