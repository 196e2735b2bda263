import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientOf } from './client-address.ts';

/**
 * At most this many connections at a time, in all and of one client. They exceed the requests in progress, so
 * that an idle connection can always give way to a health check.
 */
const MAX_CONNECTIONS = { all: 100, perClient: 60 };

/** At most this many requests in progress at a time, in all and of one client, health checks aside. */
const MAX_REQUESTS = { all: 80, perClient: 40, kind: 'requests' };

/** Of these requests, at most this many lack the token: they leave places to the clients that have it. */
const MAX_STRANGERS = { all: 20, perClient: 10, kind: 'requests without the token' };

/** Seconds after which a refused client may retry. */
const RETRY_AFTER_S = 1;

/** These answer even while other requests are refused. Their clients share one read of the database. */
const HEALTH_CHECKS = new Set(['/healthz', '/readyz']);

interface Limits {
  readonly all: number;
  readonly perClient: number;
  /** The requests that are limited, as an error names them. */
  readonly kind: string;
}

/**
 * Closes the connection that has been idle longest when a new one exceeds a limit: of its client, or else of
 * all clients. A connection is idle unless a whole request has arrived and its answer has not left.
 */
export function limitConnections(server: Server): void {
  // In the order in which they became idle or busy; the first idle one has been idle longest.
  const open = new Map<Socket, { readonly client: string; readonly idle: boolean }>();
  const mark = (socket: Socket, client: string, idle: boolean): void => {
    open.delete(socket);
    if (!socket.destroyed) open.set(socket, { client, idle });
  };
  const makeRoomFor = (socket: Socket, client: string): void => {
    const all = [...open];
    const own = all.filter(([, other]) => other.client === client);
    const crowded =
      own.length > MAX_CONNECTIONS.perClient ? own : all.length > MAX_CONNECTIONS.all ? all : [];
    if (crowded.length === 0) return;
    const [longestIdle = socket] = crowded.find(([, { idle }]) => idle) ?? [];
    open.delete(longestIdle);
    longestIdle.destroy();
  };
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket.remoteAddress);
    mark(socket, client, true);
    socket.once('close', () => open.delete(socket));
    makeRoomFor(socket, client);
  });
  server.on('request', ({ socket }, response) => {
    const client = clientOf(socket.remoteAddress);
    mark(socket, client, false);
    response.once('close', () => mark(socket, client, true));
  });
}

/**
 * Closes the answers of a connection that has closed. Node.js 22 closes only the first of them: the others
 * wait for it, and each would keep its place among the requests in progress for ever.
 */
export function closeAnswers(server: Server): void {
  const open = new WeakMap<Socket, Set<ServerResponse>>();
  server.on('connection', (socket: Socket) => {
    const answers = new Set<ServerResponse>();
    open.set(socket, answers);
    socket.once('close', () => {
      // Not every Node.js emits `close` when an answer without a socket is destroyed.
      for (const answer of answers)
        if (answer.socket === null && !answer.destroyed) answer.destroy().emit('close');
    });
  });
  server.on('request', ({ socket }, answer) => {
    const answers = open.get(socket);
    answers?.add(answer);
    answer.once('close', () => answers?.delete(answer));
  });
}

/**
 * Answers 429 to a client with too many requests in progress, and 503 if all clients have too many.
 * @param isKnown true if a request has the token, or if none is needed
 */
export function limitRequests(server: FastifyInstance, isKnown: (request: FastifyRequest) => boolean): void {
  const everyone = createPlaces(MAX_REQUESTS);
  const strangers = createPlaces(MAX_STRANGERS);
  server.addHook('onRequest', async (request, reply) => {
    if (HEALTH_CHECKS.has(request.routeOptions.url ?? '')) return undefined;
    const client = clientOf(request.ip);
    for (const places of isKnown(request) ? [everyone] : [strangers, everyone]) {
      const verdict = places.take(client);
      if (verdict !== 'taken') return await refuse(reply, verdict, places.limits);
      reply.raw.once('close', () => places.free(client));
    }
    return undefined;
  });
}

async function refuse(
  reply: FastifyReply,
  verdict: 'client-full' | 'full',
  { all, perClient, kind }: Limits,
): Promise<FastifyReply> {
  reply.header('retry-after', String(RETRY_AFTER_S));
  return verdict === 'client-full'
    ? await reply.code(429).send({ error: `This client has ${perClient} ${kind} in progress; retry later.` })
    : await reply.code(503).send({ error: `${all} ${kind} are in progress; retry later.` });
}

function createPlaces(limits: Limits) {
  const { all, perClient } = limits;
  const taken = new Map<string, number>();
  let total = 0;
  return {
    limits,
    take(client: string): 'taken' | 'client-full' | 'full' {
      const own = taken.get(client) ?? 0;
      if (own >= perClient) return 'client-full';
      if (total >= all) return 'full';
      taken.set(client, own + 1);
      total += 1;
      return 'taken';
    },
    free(client: string): void {
      const own = taken.get(client) ?? 0;
      if (own > 1) taken.set(client, own - 1);
      else taken.delete(client);
      total -= 1;
    },
  };
}
