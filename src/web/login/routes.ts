import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { duration } from '../../core/humanize.ts';
import { sendPage } from '../frame/answer.ts';
import { fieldsOf, refuseForeign } from '../frame/forms.ts';
import { type Frame, pageOf } from '../frame/layout.ts';
import { isOwnForm } from '../frame/origin.ts';
import { loginForm } from './page.ts';
import type { Sessions } from './session.ts';

/** Decides which requests may read. */
export interface Door {
  /** False: every client may read. */
  readonly isNeeded: boolean;
  /** True if the request has the token or a session. */
  accepts(request: FastifyRequest): boolean;
  judge(request: FastifyRequest, given: string | undefined): 'accepted' | 'refused' | 'blocked';
  /** Milliseconds until a blocked client's tokens are compared again. */
  blockedMs(request: FastifyRequest): number;
}

/** Adds the form for the token, and the way out. A session is a cookie: the daemon stores none. */
export function addLogin(
  web: FastifyInstance,
  { door, sessions, frame }: { door: Door; sessions: Sessions; frame: Frame },
): void {
  const form = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { to, fault = null }: { to: string; fault?: string | null },
  ): Promise<FastifyReply> => {
    const body = loginForm(to, fault);
    return await sendPage(request, reply, pageOf({ title: 'Log in', active: null, body }, frame));
  };

  web.get('/login', async (request, reply) => {
    const { to } = request.query as { to?: unknown };
    return await form(request, reply, { to: localPath(to) });
  });
  web.post('/login', async (request, reply) => {
    const fields = fieldsOf(request);
    const to = localPath(fields.get('to'));
    if (!isOwnForm(request)) return await refuseForeign(request, reply, frame);
    const verdict = door.judge(request, fields.get('token')?.trim() ?? '');
    if (verdict === 'accepted') {
      const isTls = request.headers['x-forwarded-proto'] === 'https';
      return await reply.header('set-cookie', sessions.issue(isTls)).redirect(to, 303);
    }
    if (verdict === 'blocked')
      return await form(request, reply.code(429), {
        to,
        fault: `Too many wrong tokens came from here. Log in again in ${duration(door.blockedMs(request))}.`,
      });
    return await form(request, reply.code(401), { to, fault: 'This is not the token. Copy it whole.' });
  });
  web.post('/logout', async (request, reply) => {
    if (!isOwnForm(request)) return await refuseForeign(request, reply, frame);
    return await reply.header('set-cookie', sessions.clear()).redirect('/login', 303);
  });
}

/**
 * The path to which a person returns: of these pages only, so that no link leads elsewhere, and of characters
 * that a header can hold.
 */
function localPath(text: unknown): string {
  return typeof text === 'string' && /^\/(?!\/)[!-[\]-~]*$/.test(text) ? text : '/';
}
