/** A request as it arrives: `path` starts with `/v1` and carries the query; header names in any case. */
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
}

/** What a script may make of a request; undefined: behave normally. `reset` breaks the socket, `hang` never answers. */
export type Scripted =
  | { status: number; headers?: Record<string, string>; body?: string }
  | 'reset'
  | 'hang'
  | undefined;

/** An answer other than success; whoever throws it need not know the form of error bodies. */
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

/** The refusal in form A `{errors: [{message}]}` or B `{Message}` (spec §7); null: A for 4xx, B for 429 and 5xx. */
export function refusalAnswer({ status, message, headers }: Refusal, form: 'A' | 'B' | null): SandboxAnswer {
  const chosen = form ?? (status === 429 || status >= 500 ? 'B' : 'A');
  const body = chosen === 'A' ? { errors: [{ message }] } : { Message: message };
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) };
}

/** A header's value, whatever the case of its name. */
export function headerOf({ headers }: SandboxRequest, name: string): string | undefined {
  if (headers[name] !== undefined) return headers[name];
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}
