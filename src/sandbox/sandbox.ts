import { Accounts } from './account.ts';
import { afterFault, beforeFault, type Faults } from './http/faults.ts';
import { Limits } from './http/limits.ts';
import { listen, type SandboxServer } from './http/listen.ts';
import {
  headerOf,
  Refusal,
  refusalAnswer,
  type SandboxAnswer,
  type SandboxRequest,
  type ScriptedOutcome,
} from './http/messages.ts';
import { route } from './http/routes.ts';
import { SANDBOX_DEFAULTS, type SandboxOptions } from './options.ts';
import { randomStream } from './world/random.ts';
import type { World } from './world/world.ts';

export type { SandboxAnswer, SandboxRequest, ScriptedOutcome } from './http/messages.ts';
export type { SandboxOptions } from './options.ts';

/** One request as the service received it. */
export interface Arrival {
  /** When it arrived at the service, in ms of the options' clock. */
  at: number;
  method: string;
  /** The path and the query: `/v1/inboxes?limit=100`. */
  path: string;
  /** null: reset by a script, left hanging by a script, or not answered yet. */
  status: number | null;
}

export interface Sandbox {
  /** The data of the account that answers (`otherAccountAfter`); tests read and change it. */
  readonly world: World;
  /** Every request, in order of arrival. */
  readonly arrivals: Arrival[];
  /** Lists that are answered wrongly, by path, `/inboxes/20117/tags`, or by kind, `tags`. */
  readonly faults: Faults;
  /** Serves a request without a socket. A scripted reset rejects with ECONNRESET; a hang never settles. */
  handle(request: SandboxRequest): Promise<SandboxAnswer>;
  /** Serves over HTTP on `port` of `host`. Defaults: port 0, which selects a free port, and 127.0.0.1. */
  listen(port?: number, host?: string): Promise<SandboxServer>;
  /**
   * Calls `outcomeOf` before every later request is checked, when the request is already the last one in
   * `arrivals`. A request with a scripted outcome and the right key counts towards the limits but is not
   * refused by them. A second call replaces the script; undefined removes it.
   */
  script(outcomeOf: ((request: SandboxRequest) => ScriptedOutcome) | undefined): void;
  /** Moves the account's events `ms` further ahead of the clock. */
  advance(ms: number): void;
  /** Applies exactly `count` random events now. */
  applyEvents(count: number): void;
}

/** Creates a service in memory, as its specification and docs/service.md describe it. */
export function createSandbox(options: Partial<SandboxOptions> = {}): Sandbox {
  const settings: SandboxOptions = { ...SANDBOX_DEFAULTS, ...options };
  const { now } = settings;
  const accounts = new Accounts(settings);
  const limits = new Limits(settings);
  const failures = randomStream(settings.seed, 'faults');
  const travel = oneWayDelay(settings);
  const arrivals: Arrival[] = [];
  const faults: Faults = new Map();
  let script: ((request: SandboxRequest) => ScriptedOutcome) | undefined;

  async function receive(request: SandboxRequest): Promise<SandboxAnswer | 'reset' | 'hang'> {
    await travel();
    const arrival: Arrival = { at: now(), method: request.method, path: request.path, status: null };
    arrivals.push(arrival);
    accounts.catchUp(arrivals.length);
    const outcome = runScript(request, arrival.at) ?? (await respond(request, arrival.at));
    if (typeof outcome === 'object') arrival.status = outcome.status;
    await travel();
    return outcome;
  }

  function runScript(request: SandboxRequest, at: number): SandboxAnswer | 'reset' | 'hang' | undefined {
    const outcome = script?.(request);
    if (outcome === undefined) return undefined;
    const status = typeof outcome === 'object' ? outcome.status : null;
    if (keyRefusal(request, settings) === null) limits.record(at, status !== 429);
    return typeof outcome === 'object' ? { headers: {}, body: '', ...outcome } : outcome;
  }

  async function respond(request: SandboxRequest, at: number): Promise<SandboxAnswer> {
    try {
      const refusal = keyRefusal(request, settings);
      if (refusal !== null) throw refusal;
      limits.check(at);
      if (settings.errorRate > 0 && failures() < settings.errorRate)
        throw new Refusal(500, 'Internal Server Error');
      const answer = await route(accounts.context, beforeFault(faults, request));
      return afterFault(faults, request, answer);
    } catch (error) {
      if (error instanceof Refusal) return refusalAnswer(error, settings.errorForm);
      throw error;
    }
  }

  return {
    get world() {
      return accounts.context.world;
    },
    arrivals,
    faults,
    handle: async (request) => withoutSocket(await receive(request)),
    listen: (port = 0, host = '127.0.0.1') => listen(receive, port, host),
    script(outcomeOf) {
      script = outcomeOf;
    },
    advance: (ms) => accounts.advance(ms),
    applyEvents: (count) => accounts.applyEvents(count),
  };
}

/** Returns an outcome to a caller without a socket. @throws an error with code ECONNRESET for a reset */
function withoutSocket(outcome: SandboxAnswer | 'reset' | 'hang'): SandboxAnswer | Promise<never> {
  if (outcome === 'hang') return new Promise(() => {});
  if (outcome === 'reset')
    throw Object.assign(new Error('the sandbox reset the connection'), { code: 'ECONNRESET' });
  return outcome;
}

/** Returns the refusal of a request with a wrong key or without one; null for the right key. */
function keyRefusal(request: SandboxRequest, { key, forbiddenKeys }: SandboxOptions): Refusal | null {
  const sent = /^bearer +(.+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
  if (sent === key) return null;
  if (sent === undefined) return new Refusal(401, 'Unauthorized: no bearer key');
  if (forbiddenKeys.includes(sent)) return new Refusal(403, 'Forbidden: the key lacks rights');
  return new Refusal(401, 'Unauthorized: unknown key');
}

/** Simulates one way between client and service: half of the latency, and jitter drawn for each way. */
function oneWayDelay({ latencyMs, jitterMs, seed }: SandboxOptions): () => Promise<void> {
  const random = randomStream(seed, 'jitter');
  return async () => {
    const wait = (latencyMs + jitterMs * random()) / 2;
    // Without latency there is no timer, so a test with a fake clock need not advance it.
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  };
}
