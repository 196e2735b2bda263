import { maxHeaderSize } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { codeOf, isMirrorError, MirrorError } from '../../core/errors.ts';
import type { Log } from '../../session/log.ts';
import { readinessOf, statusAsJson } from '../../status/json.ts';
import type { JudgedStatus } from '../../status/judge.ts';
import type { WholeStatus } from '../../status/observe.ts';
import type { OrderBook } from '../../web/engine/order-form.ts';
import { CANCEL_PATH, ORDERS_PATH } from '../../web/frame/links.ts';
import { createSessions } from '../../web/login/session.ts';
import {
  answerMalformed,
  escapeControls,
  EVERY_ANSWER,
  HEADERS_MS,
  JSON_TYPE,
  refuseExpectations,
  showFaults,
} from './answers.ts';
import { addChangesEndpoint, type ChangesEndpointOptions } from './changes.ts';
import { isOurHost } from './host-check.ts';
import { closeAnswers, limitConnections, limitRequests } from './limits.ts';
import type { Metrics } from './metrics.ts';
import { shareRead } from './shared-read.ts';
import { createTokenGuard, type TokenGuard } from './token.ts';

/** Milliseconds to wait for the database. `/healthz` must answer before its client gives up. */
const PING_PATIENCE_MS = 2 * SECOND;
const STATUS_PATIENCE_MS = 5 * SECOND;

/** Scrapes share the state of every page for this many ms: a large account has thousands of pages. */
const DETAILS_MS = MINUTE;

/** Times in ms. A request is one line and a few headers, so only a broken or hostile client needs longer. */
const CONNECTIONS = {
  // Node closes late connections at the next check: they live for up to a second longer.
  // `guard` refuses a request without a host: Node's own answer has no body.
  http: { headersTimeout: HEADERS_MS, connectionsCheckingInterval: SECOND, requireHostHeader: false },
  requestTimeout: 10 * SECOND,
  connectionTimeout: 30 * SECOND,
  keepAliveTimeout: 75 * SECOND,
};

/** The only paths that take a POST. Orders make the daemon read; no form changes what it has read. */
const FORMS: ReadonlySet<string> = new Set(['/login', '/logout', ORDERS_PATH, CANCEL_PATH]);

const INDEX = `/healthz      whether the process and its database answer
/readyz       whether every list is as fresh as promised
/metrics      for Prometheus
/status.json  what \`inbox-mirror status --json\` prints
/changes      ?since_id= what changed, one JSON object a line; waits up to wait= seconds
/             in a browser: the web pages
`;

/** No route has a JSON schema. Fastify loads its compilers for them at the start otherwise: 4 MB, 50 ms. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } };

function noSchema(): never {
  throw new Error('a route has a schema, but no compiler is loaded');
}

/** `standby`: another process holds the lease. */
export type Role = 'active' | 'standby';

export interface EndpointsOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Names, in lower case, that a request's `Host` header may have besides `host`. */
  readonly allowedHosts: readonly string[];
  /** Null: every client may read every endpoint. */
  readonly token: string | null;
  readonly version: string;
  /** The mirror's database, which the web pages read over connections of their own. */
  readonly databaseUrl: string;
  /** The time zone of the pages' days and exact times. */
  readonly reportTimezone: string;
  readonly clock: Pick<Clock, 'monotonic' | 'now' | 'sleep'>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly role: () => Role;
  /** Why the database does not let the daemon work; null if it does. */
  readonly fault: () => string | null;
  /** A small query that tests the database. */
  readonly ping: () => Promise<unknown>;
  readonly status: () => Promise<JudgedStatus>;
  /** Adds what only `/status.json` shows. */
  readonly details: (status: JudgedStatus) => Promise<WholeStatus>;
  readonly databaseBytes: () => number | Promise<number>;
  readonly changes: ChangesEndpointOptions['changes'];
  readonly unknown: ChangesEndpointOptions['unknown'];
  readonly newestChange: ChangesEndpointOptions['newest'];
  /** Places and cancels orders for the web pages. */
  readonly orders: OrderBook;
}

export interface Endpoints {
  /**
   * @returns the address, `http://127.0.0.1:8787`
   * @throws MirrorError `ENDPOINTS`, or `CONFIG` if this user may not use the port
   */
  listen(): Promise<string>;
  /** Stops listening and closes all connections. */
  close(): Promise<void>;
}

/**
 * The daemon's read-only HTTP endpoints (docs/http.md). If the database does not answer they return 503; no
 * failure here ends the process.
 */
export function createEndpoints(options: EndpointsOptions): Endpoints {
  const { host, port, token, clock, log } = options;
  // An id may fill the whole path. By default the router refuses one of more than 100 characters.
  const routerOptions = { maxParamLength: maxHeaderSize };
  const server = fastify({
    forceCloseConnections: true,
    routerOptions,
    schemaController: NO_SCHEMAS,
    ...CONNECTIONS,
    ...answerMalformed(options.version),
  });
  limitConnections(server.server);
  closeAnswers(server.server);
  refuseExpectations(server.server);
  guard(server, [...options.allowedHosts, host.toLowerCase()], log);
  showFaults(server, options.version);
  escapeControls(server);
  const sessions = token === null ? null : createSessions(token, () => clock.now());
  const tokens = createTokenGuard({ ...options, hasSession: (header) => sessions?.has(header) === true });
  limitRequests(server, tokens.accepts);
  const patient = { patienceMs: STATUS_PATIENCE_MS, clock, log };
  const status = shareRead({ read: options.status, ...patient });
  const shareDetails = shareRead({ read: options.details, ...patient });
  const details = async (): Promise<WholeStatus> => await shareDetails(await status());
  addRoutes(server, tokens, { ...options, status, details });
  const newest = shareRead({ read: options.newestChange, ...patient });
  addChangesEndpoint(server, { ...options, tokens, newest, patienceMs: STATUS_PATIENCE_MS });
  void server.register(async (pages) => {
    const { addPages } = await import('../../web/pages.ts');
    const { databaseUrl, reportTimezone: timezone, version, orders, fault } = options;
    const shown = `inbox-mirror ${version}\n\n${INDEX}`;
    await addPages(pages, {
      databaseUrl,
      timezone,
      clock,
      log,
      version,
      door: tokens,
      sessions,
      status,
      details,
      newest,
      orders,
      fault,
      index: shown,
    });
  });
  return {
    async listen() {
      try {
        return await server.listen({ host: addressOf(host), port });
      } catch (error) {
        await server.close();
        throw asListenError(error, host, port);
      }
    },
    close: () => server.close(),
  };
}

/**
 * For `localhost`, Fastify would open a second server on ::1, which has none of the limits of the first and
 * keeps a connection that asks for an upgrade for ever.
 */
function addressOf(host: string): string {
  return host.toLowerCase() === 'localhost' ? '127.0.0.1' : host;
}

function guard(server: FastifyInstance, hostNames: readonly string[], log: Log): void {
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(EVERY_ANSWER);
    if (!isOurHost(request.headers.host, hostNames)) {
      const name = JSON.stringify(request.headers.host ?? '');
      return await reply.code(421).send({
        error:
          `This daemon does not answer to the host name ${name}. ` +
          'If it should, add the name to HTTP_ALLOWED_HOSTS.',
      });
    }
    const isForm = request.method === 'POST' && FORMS.has(request.routeOptions.url ?? '');
    if (request.method !== 'GET' && request.method !== 'HEAD' && !isForm) {
      reply.headers({ allow: 'GET, HEAD', connection: 'close' });
      return await reply.code(405).send({ error: 'These endpoints are read-only: use GET or HEAD.' });
    }
    return undefined;
  });
  server.setNotFoundHandler(async (_request, reply) => {
    return await reply.code(404).send({ error: 'There is no such endpoint; / lists all endpoints.' });
  });
  server.setErrorHandler(async (error, _request, reply) => {
    // The shared read has already logged this.
    if (isMirrorError(error, 'DATABASE'))
      return await reply.code(503).type(JSON_TYPE).send({ error: error.message });
    if (isMirrorError(error, 'CURSOR_AHEAD', 'OTHER_EPOCH'))
      return await reply.code(410).type(JSON_TYPE).send({ error: error.message });
    log.error({ cause: error instanceof Error ? error.stack : String(error) }, 'an endpoint failed');
    return await reply
      .code(500)
      .type(JSON_TYPE)
      .send({ error: 'This endpoint failed; the log has the cause.' });
  });
}

interface SharedReads {
  readonly status: () => Promise<JudgedStatus>;
  readonly details: () => Promise<WholeStatus>;
}

function addRoutes(
  server: FastifyInstance,
  tokens: TokenGuard,
  options: Omit<EndpointsOptions, keyof SharedReads> & SharedReads,
): void {
  const { version, clock, log, metrics, role, databaseBytes, status, details } = options;
  const startedAt = clock.monotonic();
  const ping = shareRead({ read: options.ping, patienceMs: PING_PATIENCE_MS, clock, log });

  server.get('/healthz', async (_request, reply) => {
    const facts = {
      role: role(),
      uptime_seconds: Math.floor((clock.monotonic() - startedAt) / SECOND),
      version,
    };
    const failed = (database: string): FastifyReply =>
      reply.code(503).send({ status: 'failed', database, ...facts });
    const fault = options.fault();
    if (fault !== null) return await failed(fault);
    try {
      await ping();
    } catch (error) {
      if (!isMirrorError(error, 'DATABASE')) throw error;
      return await failed(error.message);
    }
    return await reply.send({ status: 'ok', database: 'ok', ...facts });
  });
  server.get('/readyz', async (request, reply) => {
    const fault = options.fault();
    // A mirror whose file is gone can still be read, but it will never be fresh again.
    const readiness =
      fault === null ? readinessOf(await status()) : ({ ready: false, database: fault } as const);
    const { ready } = readiness;
    // The details name inboxes.
    return await reply.code(ready ? 200 : 503).send(tokens.accepts(request) ? readiness : { ready });
  });
  const seldom = shareRead({
    read: details,
    patienceMs: STATUS_PATIENCE_MS,
    sharedMs: DETAILS_MS,
    clock,
    log,
  });
  server.get('/metrics', { onRequest: tokens.demand }, async (_request, reply) => {
    const scrape = {
      status: await status(),
      details: await seldom(),
      isActive: role() === 'active',
      databaseBytes: await databaseBytes(),
    };
    return await reply.type(metrics.contentType).send(await metrics.render(scrape));
  });
  server.get('/status.json', { onRequest: tokens.demand }, async (_request, reply) => {
    const found = await details();
    const healthy = found.healthy && options.fault() === null;
    return await reply.type(JSON_TYPE).send(`${statusAsJson({ ...found, healthy })}\n`);
  });
}

/** An address or a name can come late, as of a VPN at boot, and a port can become free. */
function asListenError(error: unknown, host: string, port: number): unknown {
  const code = codeOf(error) ?? '';
  const later =
    'Start the daemon again later, or set HTTP_HOST to an address of this machine, such as 127.0.0.1';
  const unknownName = `HTTP_HOST: the name ${host} cannot be resolved now (${code}). ${later}`;
  const problems: Record<string, string> = {
    EADDRINUSE:
      `HTTP_PORT: another program, perhaps another inbox-mirror, listens on ${host}:${port}. ` +
      'Stop that program, or set HTTP_PORT to a free port (0: any free port)',
    EACCES: `HTTP_PORT: this user may not listen on ${host}:${port}. Set HTTP_PORT to 1024 or above`,
    EADDRNOTAVAIL: `HTTP_HOST: this machine has no address ${host} now. ${later}`,
    ENOTFOUND: unknownName,
    EAI_AGAIN: unknownName,
  };
  const problem = problems[code];
  if (problem === undefined) return error;
  return new MirrorError(code === 'EACCES' ? 'CONFIG' : 'ENDPOINTS', `${problem}.`, { cause: error });
}
