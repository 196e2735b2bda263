import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createSecureContext, getCACertificates } from 'node:tls';
import got, { type OptionsInit, RequestError, TimeoutError } from 'got';
import { limitInterim } from '../core/abortable.ts';
import { REQUEST_TIMEOUT_MS } from '../core/budget.ts';
import { codeOf } from '../core/errors.ts';
import { duration, onOneLine } from '../core/humanize.ts';
import { LEAST_KEY, withoutKey } from '../core/secrets.ts';
import { hasRows, withoutEcho } from './echo.ts';
import { type Decoded, decodeJson } from './flaws.ts';

/** At most this many bytes in an answer, after decompression. */
const LARGEST_ANSWER = 16 * 1024 * 1024;

/** At most this many characters of an error of Node or OpenSSL. */
const LONGEST_CAUSE = 300;

/** Idle sockets stay open for 60 s. Node's default, 5 s, is shorter than the time between many requests. */
const KEEP_ALIVE_MS = 60_000;

/** The longest wait for a connection and for the whole request, in milliseconds. */
export interface TimeOuts {
  readonly connectMs: number;
  readonly requestMs: number;
}
const TIME_OUTS: TimeOuts = { connectMs: 10_000, requestMs: REQUEST_TIMEOUT_MS };

/** A complete answer of the service, without the key. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** See {@link Decoded}; by default null. */
  readonly mark?: Decoded['mark'];
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  /** The `Date` header: the service's clock. */
  readonly date: string | undefined;
}

/** The end of the last year that every database can store. */
const END_OF_TIME = Date.UTC(10_000, 0);

/** The service's clock in an answer; null if it has no date, or none from 1970 to 9999. */
export function serviceTime({ date }: Pick<Answer, 'date'>): Date | null {
  const time = Date.parse(date ?? '');
  return time >= 0 && time < END_OF_TIME ? new Date(time) : null;
}

/** The request got no answer. `message` is the cause, without got's options, which contain the key. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** Of Node, such as `ENOTFOUND`; null if it gives none. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

/** Sends each request once. Retries are the gate's task. */
export interface Http {
  /** `path` starts with `/`. @throws NoAnswer */
  get(path: string, query: Readonly<Record<string, string>>): Promise<Answer>;
  close(): void;
}

export interface HttpOptions {
  readonly timeOuts?: TimeOuts;
  /** The program and its version, such as `inbox-mirror/1.2.3`. */
  readonly userAgent?: string;
  /** The proxies, and the certificates (PEM) of an authority that is trusted besides Node's. */
  readonly network?: {
    readonly proxyEnv: Readonly<Record<string, string>>;
    readonly authority: string | null;
  };
}

/**
 * HTTP to the service at `baseUrl`. Every request calls `key()`, so that a changed key file takes effect.
 */
export function createHttp(
  baseUrl: string,
  key: () => string,
  { timeOuts = TIME_OUTS, userAgent = 'inbox-mirror', network }: HttpOptions = {},
): Http {
  const agent = createAgents(network);
  const logins = loginsOf(network);
  const masked = (text: string): string => logins.reduce<string>(withoutKey, text);
  const options: OptionsInit = {
    agent,
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    timeout: { connect: timeOuts.connectMs, request: timeOuts.requestMs },
    headers: { accept: 'application/json', 'user-agent': userAgent },
  };
  return {
    async get(path, query) {
      const secret = key();
      const headers = { ...options.headers, authorization: `Bearer ${secret}` };
      try {
        const answer = await send(`${baseUrl}${path}`, { ...options, searchParams: query, headers });
        return withoutEcho(hasRows(answer) ? answer : withoutLogins(answer, masked), secret);
      } catch (error) {
        throw error instanceof NoAnswer
          ? error
          : new NoAnswer(
              describeFailure(error, timeOuts, (text) => masked(withoutKey(text, secret))),
              codeOf(error),
            );
      }
    },
    close() {
      agent.http.destroy();
      agent.https.destroy();
    },
  };
}

function createAgents(network: HttpOptions['network']): { http: HttpAgent; https: HttpsAgent } {
  const common = { keepAlive: true, timeout: KEEP_ALIVE_MS, proxyEnv: { ...network?.proxyEnv } };
  const authority = network?.authority ?? null;
  // The context is made once: Node would read all its certificates again for each connection.
  const ca = authority === null ? null : [...getCACertificates('default'), authority];
  const trust = ca === null ? {} : { secureContext: createSecureContext({ ca }) };
  return { http: new HttpAgent(common), https: new HttpsAgent({ ...common, ...trust }) };
}

/**
 * The secrets that a proxy gets, and may repeat: user and password in one text, and the password. Without a
 * password, the user name is the secret, unless it is short.
 */
function loginsOf(network: HttpOptions['network']): string[] {
  return Object.entries(network?.proxyEnv ?? {})
    .filter(([name, url]) => /^https?_proxy$/i.test(name) && URL.canParse(url))
    .map(([, url]) => new URL(url))
    .map(({ username, password }) => [username, password].map(decodeURIComponent))
    .flatMap(([user = '', password = '']) => {
      const secret = password === '' && user.length >= LEAST_KEY ? user : password;
      return secret === '' ? [] : [`${user}:${password}`, secret];
    });
}

/** An answer of a proxy, instead of the service's, without the proxy's password. */
function withoutLogins(answer: Answer, masked: (text: string) => string): Answer {
  const { body, location } = answer;
  return { ...answer, body: masked(body), location: location === undefined ? location : masked(location) };
}

async function send(url: string, options: OptionsInit): Promise<Answer> {
  const stream = got.stream(url, options);
  stream.once('request', (request) => limitInterim(request, (error) => stream.destroy(error)));
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > LARGEST_ANSWER) throw new NoAnswer('the answer was above 16 MB and was cut off');
      chunks.push(chunk);
    }
    const { statusCode, headers } = stream.response as NonNullable<typeof stream.response>;
    return {
      status: statusCode,
      ...decodeJson(Buffer.concat(chunks)),
      retryAfter: headers['retry-after'],
      location: headers.location,
      date: headers.date,
    };
  } finally {
    stream.destroy();
  }
}

/**
 * Returns only an error's code and message: got's errors also contain the request's options, with the key.
 */
function describeFailure(
  error: unknown,
  { connectMs, requestMs }: TimeOuts,
  masked: (text: string) => string,
): string {
  if (error instanceof TimeoutError) {
    return error.event === 'connect'
      ? `no connection within ${duration(connectMs)}`
      : `no answer within ${duration(requestMs)}`;
  }
  if (!(error instanceof Error)) return 'the request failed';
  // Before the cut: a part of the key could not be recognised.
  const whole = masked(error.message);
  if (!(error instanceof RequestError)) return whole;
  const message = onOneLine(whole, LONGEST_CAUSE);
  return error.code === 'ERR_GOT_REQUEST_ERROR' || error.code === undefined
    ? message
    : `${error.code}: ${message}`;
}
