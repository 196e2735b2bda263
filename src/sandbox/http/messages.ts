/**
 * A request as it arrives. `path` starts with `/v1` and includes the query; header names may have any case.
 */
export interface SandboxRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array | undefined;
}

export interface SandboxAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Sent instead of `body`, for an answer that is no valid UTF-8. */
  readonly bytes?: Uint8Array;
}

/**
 * A request's outcome set by a script: `reset` breaks the socket, `hang` never answers, undefined: none set.
 */
export type ScriptedOutcome =
  | { status: number; headers?: Record<string, string>; body?: string; bytes?: Uint8Array }
  | 'reset'
  | 'hang'
  | undefined;

/** An error answer. {@link refusalAnswer} chooses the form of its body. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

export function jsonAnswer(status: number, body: unknown): SandboxAnswer {
  return { status, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/**
 * Writes a refusal in form A, `{errors: [{message}]}`, or B, `{Message}` (spec §7).
 * `form` null: B for 429 and 5xx, A for any other status.
 */
export function refusalAnswer({ status, message, headers }: Refusal, form: 'A' | 'B' | null): SandboxAnswer {
  const chosen = form ?? (status === 429 || status >= 500 ? 'B' : 'A');
  const body = chosen === 'A' ? { errors: [{ message }] } : { Message: message };
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) };
}

/** Returns a header's value. `name` is in lower case; the request may write it in any case. */
export function headerOf({ headers }: SandboxRequest, name: string): string | undefined {
  if (headers[name] !== undefined) return headers[name];
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}
