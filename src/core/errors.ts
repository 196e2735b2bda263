/** Exit codes (docs/commands.md, "Exit codes"). */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  keyRefused: 3,
  resumable: 4,
  stale: 5,
  interrupted: 130,
} as const;

interface ErrorKind {
  /** The exit code of a command that the error ends. */
  readonly exit: number;
  /** How much of a pass the error ends. */
  readonly ends: Reach;
}

/**
 * How much of a pass an error ends. `list`: this list fails, and resuming it would not help. `sweep`: this
 * list pauses and can be resumed. `pass`: no request of the pass can succeed. After `list` and `sweep` the
 * pass continues with the other lists.
 */
export type Reach = 'list' | 'sweep' | 'pass';

/** Every known error, grouped by what the caller must do. */
const ERRORS = {
  /** The command's arguments are wrong. The command did nothing. */
  USAGE: { exit: EXIT.usage, ends: 'pass' },
  /** The environment is incomplete or wrong, or names another program's database. The command did nothing. */
  CONFIG: { exit: EXIT.usage, ends: 'pass' },
  /** The changes after an id that the mirror does not have, for example after a restored backup. */
  CURSOR_AHEAD: { exit: EXIT.usage, ends: 'pass' },
  /** The changes after a cursor whose change is not the mirror's: a backup was restored and written to. */
  OTHER_EPOCH: { exit: EXIT.usage, ends: 'pass' },
  /** The service shows another account than the mirror's. No row was written. */
  OTHER_ACCOUNT: { exit: EXIT.usage, ends: 'pass' },
  /** 401, or 403 for /inboxes. The gate is shut until the key changes or a command tests it. */
  KEY_REFUSED: { exit: EXIT.keyRefused, ends: 'pass' },
  /** The day's budget is spent. `resumeAt`: when the next request may leave. */
  BUDGET_SPENT: { exit: EXIT.resumable, ends: 'pass' },
  /** The service asked to wait, or the breaker is open. `resumeAt`: the end of the pause. */
  GATE_PAUSED: { exit: EXIT.resumable, ends: 'pass' },
  /** No request was answered. */
  SERVICE_DOWN: { exit: EXIT.resumable, ends: 'pass' },
  /** A request failed while others were answered, or the pass gave the list up before it sent one. */
  ANSWER_FAILED: { exit: EXIT.resumable, ends: 'sweep' },
  /** Another process writes to the mirror. */
  LEASE_HELD: { exit: EXIT.resumable, ends: 'pass' },
  /** The daemon that had begun an order has stopped; the next daemon resumes the order. */
  DAEMON_STOPPED: { exit: EXIT.resumable, ends: 'pass' },
  /** 403 for a list, while /inboxes is answered: the key is valid, but may not read this list. */
  LIST_FORBIDDEN: { exit: EXIT.unexpected, ends: 'list' },
  /** A redirect, or a 4xx that no other code covers. */
  REQUEST_REFUSED: { exit: EXIT.unexpected, ends: 'list' },
  /** A 4xx for a page token. */
  TOKEN_REFUSED: { exit: EXIT.unexpected, ends: 'list' },
  /** A 2xx whose body does not match the specification. */
  BAD_ANSWER: { exit: EXIT.unexpected, ends: 'list' },
  /** While a list was read, its sweep ended: another or an older copy replaced it, or its inbox is gone. */
  SWEEP_ENDED: { exit: EXIT.unexpected, ends: 'list' },
  /** The pages of a list do not end. */
  ENDLESS_LIST: { exit: EXIT.unexpected, ends: 'list' },
  /** The mirror's database is locked, full, read-only, too new or broken. */
  DATABASE: { exit: EXIT.unexpected, ends: 'pass' },
  /** The database refuses a statement: a trigger or constraint of another program, or a bug here. */
  STATEMENT_REFUSED: { exit: EXIT.unexpected, ends: 'list' },
  /** The machine cannot open the daemon's endpoints at this moment. A later start may succeed. */
  ENDPOINTS: { exit: EXIT.unexpected, ends: 'pass' },
  /** A file of an export cannot be written. No file was replaced. */
  OUTPUT: { exit: EXIT.unexpected, ends: 'pass' },
  /** A person or a signal stopped the command. */
  STOPPED: { exit: EXIT.interrupted, ends: 'pass' },
  /** Another process has taken over the mirror. */
  LEASE_LOST: { exit: EXIT.unexpected, ends: 'pass' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorDetails {
  /** When it makes sense to resume. */
  readonly resumeAt?: Date | undefined;
  /** The HTTP status, if the service answered. */
  readonly status?: number | undefined;
  /** The database's file is damaged or was replaced, or a table of it is missing: no retry helps. */
  readonly isDamage?: boolean;
  /** Damage as SQLite reports it, also of a whole file that the disk fails to read. A check decides. */
  readonly mayBeWhole?: boolean;
  /** A newer program has migrated the database: this process can no longer use it. */
  readonly isNewer?: boolean;
  readonly cause?: unknown;
}

/** A known error. Its message has three parts: what was tried, what was received, what to do now. */
export class MirrorError extends Error {
  override readonly name = 'MirrorError';
  readonly code: ErrorCode;
  readonly resumeAt: Date | undefined;
  readonly status: number | undefined;
  readonly isDamage: boolean;
  readonly mayBeWhole: boolean;
  readonly isNewer: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const { resumeAt, status, isDamage = false, mayBeWhole = false, isNewer = false, cause } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.resumeAt = resumeAt;
    this.status = status;
    this.isDamage = isDamage;
    this.mayBeWhole = mayBeWhole;
    this.isNewer = isNewer;
  }
}

/** True for a {@link MirrorError} with one of the codes; without codes, for any. */
export function isMirrorError(error: unknown, ...codes: ErrorCode[]): error is MirrorError {
  return error instanceof MirrorError && (codes.length === 0 || codes.includes(error.code));
}

/**
 * True for a failure of the database that may end without a new start of this process: the server runs
 * again, or a person removes what refuses a statement.
 */
export function isPassingFailure(error: unknown): error is MirrorError {
  return isMirrorError(error, 'DATABASE', 'STATEMENT_REFUSED') && !error.isDamage && !error.isNewer;
}

/** The exit code of a command that this error ends. An unknown error is a bug. */
export function exitCodeOf(error: unknown): number {
  return isMirrorError(error) ? ERRORS[error.code].exit : EXIT.unexpected;
}

/** How much of a pass this error ends. An unknown error is a bug that one list has met: it ends that list. */
export function reachOf(error: unknown): Reach {
  return isMirrorError(error) ? ERRORS[error.code].ends : 'list';
}

/** The `code` of an error of Node or a library, such as `ENOENT`; null if the value has none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}

/** The codes with which Node rejects a certificate. Each needs a person. */
const CERTIFICATE =
  /^(?:UNABLE_TO_(?:VERIFY_LEAF|GET_ISSUER)|SELF_SIGNED|DEPTH_ZERO_SELF|CERT_|ERR_TLS_CERT)/;

/** True if a `code` says that the certificate of the other side cannot be trusted. */
export function rejectsCertificate(code: string | null): boolean {
  return CERTIFICATE.test(code ?? '');
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The message of an error without its advice to a person at a command: for the log, `doctor` and the cause of
 * an outage. Of a pause only its end: another line reports its cause.
 */
export function messageWithoutAdvice(error: unknown): string {
  if (isMirrorError(error, 'GATE_PAUSED') && error.resumeAt !== undefined)
    return `no request is sent until ${error.resumeAt.toISOString()}`;
  return isMirrorError(error, 'SERVICE_DOWN') ? messageOf(error.cause ?? error) : messageOf(error);
}
