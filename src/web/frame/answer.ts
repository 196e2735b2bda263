import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readAssets } from './assets.ts';
import type { Html } from './html.ts';
import { faultPage } from './layout.ts';
import { POLICY_TEXT } from './origin.ts';

/** Shorter answers are not compressed: they fit one packet anyway. In bytes. */
const LEAST_COMPRESSED = 1024;

const compress = promisify(gzip);

/** Sends a page, compressed if the client accepts that. */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Html,
): Promise<FastifyReply> {
  return await sendText(request, reply.type('text/html; charset=utf-8'), String(page));
}

/** Sends a text whose type is set, compressed if the client accepts that. */
export async function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string | Buffer,
): Promise<FastifyReply> {
  reply.header('vary', 'accept-encoding');
  const accepts = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(request.headers['accept-encoding'] ?? '');
  if (!accepts || text.length < LEAST_COMPRESSED) return await reply.send(text);
  return await reply.header('content-encoding', 'gzip').send(await compress(text));
}

/** True for a browser that loads a page; programs such as curl accept anything. */
export function wantsPage(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/html');
}

/** A signal that is aborted when the client has left, or has its answer. */
export function whenClosed(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once('close', () => closed.abort());
  return closed.signal;
}

/** The headings of failures. Others have a general one. */
const TITLES: Readonly<Record<number, string>> = {
  401: 'This needs the token',
  404: 'There is no such page',
  405: 'This cannot be sent here',
  421: 'Not under this name',
  429: 'Too many requests',
};

const NOT_FOUND = 'The daemon has nothing at this address. It may be mistyped, or from an older version.';

/** The page in place of an error in JSON, for a person's browser. @param error the sentence of the error */
export async function faultForPeople(reply: FastifyReply, error: string, version: string): Promise<string> {
  const { statusCode: status } = reply;
  const title = TITLES[status] ?? (status >= 500 ? 'The daemon cannot answer now' : 'This request is wrong');
  reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY_TEXT);
  const frame = { assets: await readAssets(), version, canLogOut: false };
  return String(faultPage(title, status === 404 ? NOT_FOUND : error, frame));
}
