import { codeOf, messageOf } from '../../src/core/errors.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { decodeJson } from '../../src/service/flaws.ts';
import { type Http, NoAnswer } from '../../src/service/http.ts';

/**
 * Requests to a sandbox without a socket: a socket is a third of the CPU of a simulated day. A scripted reset
 * is a `NoAnswer`, as on a socket. A scripted hang never ends: such a test needs the socket and its time-out.
 */
export function memoryHttp(sandbox: Pick<Sandbox, 'handle'>, key: () => string): Http {
  return {
    async get(path, query) {
      const search = new URLSearchParams(query).toString();
      const request = {
        method: 'GET',
        path: `/v1${path}${search === '' ? '' : `?${search}`}`,
        headers: { authorization: `Bearer ${key()}` },
      };
      const { status, headers, body, bytes } = await sandbox.handle(request).catch((error: unknown) => {
        throw new NoAnswer(messageOf(error), codeOf(error));
      });
      return {
        status,
        ...(bytes === undefined ? { body } : decodeJson(Buffer.from(bytes))),
        retryAfter: headers['retry-after'],
        location: headers['location'],
        date: headers['date'],
      };
    },
    close: () => undefined,
  };
}
