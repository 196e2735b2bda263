import type { Desk } from './http/context.ts';
import { Limits } from './http/limits.ts';
import { listen, type Listening } from './http/listen.ts';
import {
  headerOf,
  Refusal,
  refusalAnswer,
  type SandboxAnswer,
  type SandboxRequest,
  type Scripted,
} from './http/messages.ts';
import { route } from './http/routes.ts';
import { Wire } from './http/wire.ts';
import { SANDBOX_DEFAULTS, type SandboxOptions } from './options.ts';
import { Activity } from './world/activity.ts';
import { randomStream } from './world/random.ts';
import { seedWorld } from './world/seed.ts';
import type { World } from './world/world.ts';

export type { SandboxAnswer, SandboxRequest, Scripted } from './http/messages.ts';
export type { SandboxOptions } from './options.ts';

/** One request as the service saw it. */
export interface Arrival {
  /** ms, by the options' clock, after the way out. */
  at: number;
  method: string;
  /** With the query, without the host: `/v1/inboxes?limit=100`. */
  path: string;
  /** null: reset, hung, or not answered yet. */
  status: number | null;
}

export interface Sandbox {
  /** The truth; tests read and change it. */
  readonly world: World;
  /** Every request, in order of arrival. */
  readonly arrivals: Arrival[];
  /** Serves a request without a socket. A scripted reset rejects with code ECONNRESET; a scripted hang never settles. */
  handle(request: SandboxRequest): Promise<SandboxAnswer>;
  /** Serves over HTTP on `port` (0: a free one) of `host` (127.0.0.1). */
  listen(port?: number, host?: string): Promise<Listening>;
  /**
   * Asks `fn` first about every request from now on; the request is already the last of `arrivals`, and if its key is right it
   * counts for the limits without being judged. A later call takes the place of the earlier; undefined ends it.
   */
  script(fn: ((request: SandboxRequest) => Scripted) | undefined): void;
  /** Lets the account's life run `ms` ahead of the clock. */
  advance(ms: number): void;
  /** Makes exactly `n` changes at once. */
  applyEvents(n: number): void;
}

/** The service as service-spec.md and SERVICE-NOTES.md describe it, in memory. */
export function createSandbox(options: Partial<SandboxOptions> = {}): Sandbox {
  const settings: SandboxOptions = { ...SANDBOX_DEFAULTS, ...options };
  const { now } = settings;
  const world = seedWorld(settings);
  const desk: Desk = { world, wire: new Wire(settings.idType), options: settings };
  const activity = new Activity(world, settings);
  const limits = new Limits(settings);
  const faults = randomStream(settings.seed, 'faults');
  const way = wayOf(settings);
  const arrivals: Arrival[] = [];
  let scripted: ((request: SandboxRequest) => Scripted) | undefined;

  async function receive(request: SandboxRequest): Promise<SandboxAnswer | 'reset' | 'hang'> {
    await way();
    const arrival: Arrival = { at: now(), method: request.method, path: request.path, status: null };
    arrivals.push(arrival);
    activity.catchUp();
    const outcome = script(request, arrival.at) ?? (await judge(request, arrival.at));
    if (typeof outcome === 'object') arrival.status = outcome.status;
    await way();
    return outcome;
  }

  function script(request: SandboxRequest, at: number): SandboxAnswer | 'reset' | 'hang' | undefined {
    const outcome = scripted?.(request);
    if (outcome === undefined) return undefined;
    const status = typeof outcome === 'object' ? outcome.status : null;
    if (refusedKey(request) === null) limits.note(at, status !== 429);
    return typeof outcome === 'object' ? { headers: {}, body: '', ...outcome } : outcome;
  }

  async function judge(request: SandboxRequest, at: number): Promise<SandboxAnswer> {
    try {
      const refused = refusedKey(request);
      if (refused !== null) throw refused;
      limits.judge(at);
      if (settings.errorRate > 0 && faults() < settings.errorRate)
        throw new Refusal(500, 'Internal Server Error');
      return await route(desk, request);
    } catch (error) {
      if (error instanceof Refusal) return refusalAnswer(error, settings.errorForm);
      throw error;
    }
  }

  function refusedKey(request: SandboxRequest): Refusal | null {
    const key = /^bearer +(.+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
    if (key === settings.key) return null;
    if (key !== undefined && settings.forbiddenKeys.includes(key))
      return new Refusal(403, 'Forbidden: the key lacks rights');
    return new Refusal(
      401,
      key === undefined ? 'Unauthorized: no bearer key' : 'Unauthorized: the key is not known',
    );
  }

  return {
    world,
    arrivals,
    async handle(request) {
      const outcome = await receive(request);
      if (outcome === 'hang') return new Promise(() => {});
      if (outcome === 'reset')
        throw Object.assign(new Error('the sandbox reset the connection'), { code: 'ECONNRESET' });
      return outcome;
    },
    listen: (port = 0, host = '127.0.0.1') => listen(receive, port, host),
    script(fn) {
      scripted = fn;
    },
    advance: (ms) => activity.advance(ms),
    applyEvents: (n) => activity.apply(n),
  };
}

/** One way between client and service: half the latency, and jitter of its own. */
function wayOf({ latencyMs, jitterMs, seed }: SandboxOptions): () => Promise<void> {
  const random = randomStream(seed, 'jitter');
  return async () => {
    const wait = (latencyMs + jitterMs * random()) / 2;
    // No timer at all without latency: a test with a fake clock need not turn it.
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  };
}
