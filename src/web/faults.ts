import type { FastifyReply } from 'fastify';
import { readAssets } from './frame/assets.ts';
import { faultPage } from './frame/layout.ts';
import { POLICY_TEXT } from './frame/origin.ts';

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
