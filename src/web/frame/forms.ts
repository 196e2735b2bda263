import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendPage } from './answer.ts';
import { html, type Html } from './html.ts';
import { faultPage, type Frame } from './layout.ts';
import { cookieIn, isOwnForm } from './origin.ts';

/** The longest form, in bytes. */
const MOST_FORM = 4096;

/** Reads the bodies of forms. */
export function readForms(web: FastifyInstance): void {
  web.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MOST_FORM },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
}

/** The fields of a form; none if the request is not one. */
export function fieldsOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

/** Answers a form of another site. */
export async function refuseForeign(
  request: FastifyRequest,
  reply: FastifyReply,
  frame: Frame,
): Promise<FastifyReply> {
  const sentence =
    'This form came from another site, so the daemon did nothing. Use the form of these pages.';
  return await sendPage(request, reply.code(403), faultPage('Not from here', sentence, frame));
}

/** The name of the field that holds a form's token. */
const FIELD = 'form_token';

/** Tokens of the forms that change something. Only a page of this daemon holds one. */
export interface FormTokens {
  /** The hidden field for a page that this request gets. */
  field(request: FastifyRequest): Html;
  /** True if a page of this daemon, read by the same person, sent this form. */
  accepts(request: FastifyRequest): boolean;
}

/** A token holds for this daemon's life and for one login. */
export function createFormTokens(): FormTokens {
  const key = randomBytes(32);
  const tokenOf = ({ headers }: FastifyRequest): string =>
    createHmac('sha256', key).update(cookieIn(headers.cookie)).digest('base64url');
  return {
    field: (request) => html`<input type="hidden" name="${FIELD}" value="${tokenOf(request)}" />`,
    accepts(request) {
      const expected = Buffer.from(tokenOf(request));
      const given = Buffer.from(fieldsOf(request).get(FIELD) ?? '');
      return isOwnForm(request) && given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
