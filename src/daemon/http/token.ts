import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { duration } from '../../core/humanize.ts';
import type { Log } from '../../session/log.ts';
import { guesserOf } from './client-address.ts';

/** After this many wrong tokens within the window, a client's tokens are no longer compared. */
const MAX_WRONG = 20;

/** Milliseconds from a client's first wrong token. */
const WINDOW_MS = 10 * MINUTE;

/** At most this many clients are counted; a further one takes the place of the oldest. */
const MAX_CLIENTS = 10_000;

export interface TokenGuard {
  /** False: every client may read everything. */
  readonly isNeeded: boolean;
  /** True if the request has the token or a session, or if none is needed. A wrong token is counted. */
  accepts(request: FastifyRequest): boolean;
  /** Compares a token that a person has typed. A wrong one counts as one of a header does. */
  judge(request: FastifyRequest, given: string | undefined): Verdict;
  /** Milliseconds until the client's tokens are compared again; 0: they are. */
  blockedMs(request: FastifyRequest): number;
  /** A hook: answers 401 or 429 in place of a route that only holders of the token may read. */
  readonly demand: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

/** `blocked`: the client has sent too many wrong tokens, and no token of it is compared. */
type Verdict = 'accepted' | 'refused' | 'blocked';

/**
 * @param token null: every request is accepted
 * @param hasSession true if the `Cookie` header is that of a person who has given the token
 */
export function createTokenGuard({
  token,
  hasSession,
  clock,
  log,
}: {
  token: string | null;
  hasSession: (header: string | undefined) => boolean;
  clock: Pick<Clock, 'monotonic'>;
  log: Log;
}): TokenGuard {
  const expected = token === null ? null : digestOf(token);
  const tries = createTries(clock, log);

  function judge(request: FastifyRequest, given: string | undefined): Verdict {
    if (expected === null) return 'accepted';
    const client = guesserOf(request.ip);
    if (given === undefined) return 'refused';
    // The comparison would be an oracle for a client that guesses.
    if (tries.blockedMs(client) > 0) return 'blocked';
    if (timingSafeEqual(digestOf(given), expected)) return 'accepted';
    tries.count(client);
    return 'refused';
  }

  const blockedMs = ({ ip }: FastifyRequest): number => tries.blockedMs(guesserOf(ip));

  // A wrong token counts once, however often its request is judged.
  const verdicts = new WeakMap<FastifyRequest, Verdict>();
  function judgeHeaders(request: FastifyRequest): Verdict {
    const { cookie, authorization = '' } = request.headers;
    const verdict =
      verdicts.get(request) ??
      (hasSession(cookie) ? 'accepted' : judge(request, /^bearer +(\S+)$/i.exec(authorization)?.[1]));
    verdicts.set(request, verdict);
    return verdict;
  }

  return {
    isNeeded: token !== null,
    accepts: (request) => judgeHeaders(request) === 'accepted',
    judge,
    blockedMs,
    async demand(request, reply) {
      const verdict = judgeHeaders(request);
      if (verdict === 'accepted') return undefined;
      if (verdict === 'blocked')
        return await reply
          .code(429)
          .header('retry-after', String(Math.ceil(blockedMs(request) / SECOND)))
          .send({ error: `This client has sent ${MAX_WRONG} wrong tokens; retry later.` });
      return await reply
        .code(401)
        .header('www-authenticate', 'Bearer realm="inbox-mirror"')
        .send({ error: 'This endpoint needs the token of HTTP_TOKEN: send Authorization: Bearer TOKEN.' });
    },
  };
}

/** Digests have one length, and their comparison takes the same time wherever two tokens differ. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function createTries(clock: Pick<Clock, 'monotonic'>, log: Log) {
  const byClient = new Map<string, { wrong: number; readonly until: number }>();
  const current = (client: string): { wrong: number; readonly until: number } | undefined => {
    const tries = byClient.get(client);
    if (tries === undefined || clock.monotonic() < tries.until) return tries;
    byClient.delete(client);
    return undefined;
  };
  return {
    /** Milliseconds until the client's tokens are compared again; 0: they are. */
    blockedMs(client: string): number {
      const tries = current(client);
      return tries === undefined || tries.wrong < MAX_WRONG ? 0 : tries.until - clock.monotonic();
    },
    count(client: string): void {
      const tries = current(client) ?? { wrong: 0, until: clock.monotonic() + WINDOW_MS };
      tries.wrong += 1;
      byClient.set(client, tries);
      const [oldest = client] = byClient.keys();
      if (byClient.size > MAX_CLIENTS) byClient.delete(oldest);
      if (tries.wrong === MAX_WRONG)
        log.warn(
          { client },
          `a client has sent ${MAX_WRONG} wrong tokens to the endpoints within ${duration(WINDOW_MS)}; ` +
            'it gets 429 until they are over',
        );
    },
  };
}
