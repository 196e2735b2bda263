import { maxHeaderSize, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SECOND } from '../../core/clock.ts';
import { codeOf } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { escapeHidden } from '../../core/json.ts';
import { wantsPage } from '../../web/frame/answer.ts';

/** The headers of every answer. */
export const EVERY_ANSWER = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The headers of a request must arrive within this many ms. */
export const HEADERS_MS = 5 * SECOND;

/** Options of Fastify that answer requests which no hook and no route sees, in the form of all errors. */
export function answerMalformed(version: string) {
  return {
    frameworkErrors(_error: Error, request: FastifyRequest, reply: FastifyReply): void {
      const error = 'The path contains an invalid %-escape; write a literal % as %25.';
      const payload = JSON.stringify({ error });
      void reply.code(400).headers(EVERY_ANSWER).type(JSON_TYPE);
      pageOrJson(request, reply, payload, version).then(
        (body) => void reply.send(body),
        // A file of the web pages cannot be read.
        () => void reply.type(JSON_TYPE).send(payload),
      );
    },
    clientErrorHandler(error: Error, socket: Socket): void {
      if (codeOf(error) !== 'ECONNRESET' && socket.writable) socket.write(answerTo(error));
      socket.destroy();
    },
  };
}

/** Answers a request with an unknown `Expect` header, to which Node would give a 417 without a body. */
export function refuseExpectations(server: Server): void {
  server.on('checkExpectation', (_request, response) => {
    const error = 'This daemon meets no expectation but 100-continue; leave the header Expect out.';
    const body = JSON.stringify({ error });
    response.writeHead(417, headersOf(body)).end(body);
  });
}

/** The whole answer to a request that Node cannot read. */
function answerTo(error: Error): string {
  const [status, sentence] = faultOf(codeOf(error));
  const body = JSON.stringify({ error: sentence });
  const lines = Object.entries(headersOf(body)).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

function headersOf(body: string): Record<string, string> {
  const length = String(Buffer.byteLength(body));
  return { 'content-type': JSON_TYPE, 'content-length': length, connection: 'close', ...EVERY_ANSWER };
}

/** The status, and a sentence. */
function faultOf(code: string | null): [number, string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return [408, `This request did not arrive in time; send its headers within ${duration(HEADERS_MS)}.`];
  if (code === 'HPE_HEADER_OVERFLOW')
    return [431, `The headers of this request are too long; send at most ${maxHeaderSize} bytes.`];
  return [400, 'This is not a valid request of HTTP/1.1.'];
}

/** Writes the control characters in every answer of JSON as escapes: curl prints an answer as it is. */
export function escapeControls(server: FastifyInstance): void {
  server.addHook('onSend', async (_request, reply, payload) => {
    const isJson = /^application\/(x-nd)?json/.test(String(reply.getHeader('content-type')));
    return isJson && typeof payload === 'string' ? escapeHidden(payload) : payload;
  });
}

/** Shows a person the page of an error that a program gets as JSON. */
export function showFaults(server: FastifyInstance, version: string): void {
  server.addHook('onSend', async (request, reply, payload) => {
    const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
    if (reply.statusCode < 400 || !isJson || typeof payload !== 'string') return payload;
    return await pageOrJson(request, reply, payload, version);
  });
}

/** The page of an error for a browser; for a program `payload`, its JSON. */
async function pageOrJson(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: string,
  version: string,
): Promise<string> {
  if (!wantsPage(request)) return payload;
  const { error } = JSON.parse(payload) as { error?: string };
  if (error === undefined) return payload;
  const { faultForPeople } = await import('../../web/frame/answer.ts');
  return await faultForPeople(reply, error, version);
}
