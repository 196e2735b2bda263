import { MirrorError } from '../core/errors.ts';
import { readErrorMessage } from './envelope.ts';
import type { Answer } from './http.ts';
import type { Reject } from './resources.ts';

/** The error for an answer that is neither 2xx nor one that refuses the key. */
export function refusal(path: string, { status, body, location }: Answer): MirrorError {
  if (status >= 300 && status < 400) {
    return new MirrorError(
      'REQUEST_REFUSED',
      `GET ${path} was redirected (HTTP ${status}) to ${location ?? 'an unnamed address'}. ` +
        'Redirects are not followed, so that the key is sent nowhere else; check INBOX_API_URL.',
      { status },
    );
  }
  const message = readErrorMessage(body);
  if (status === 403) {
    return new MirrorError(
      'LIST_FORBIDDEN',
      `GET ${path} was refused (HTTP 403)${message === null ? '' : `: ${message}`}. The key is valid, ` +
        'because GET /inboxes was answered. The other lists are read as usual. If the key should be able ' +
        'to read this path, ask an administrator of the account.',
      { status },
    );
  }
  // The service explains its errors. A 404 without its message probably comes from another server.
  const reason = message === null ? `.${status === 404 ? ' Check INBOX_API_URL.' : ''}` : `: ${message}`;
  return new MirrorError('REQUEST_REFUSED', `GET ${path} was refused (HTTP ${status})${reason}`, { status });
}

/** Runs `work` and puts the request and its status before the message of a `MirrorError`. */
export function inContext<Result>(path: string, { status }: Answer, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof MirrorError)) throw error;
    throw new MirrorError(error.code, `GET ${path} (HTTP ${status}): ${error.message}.`, {
      status,
      cause: error.cause,
    });
  }
}

/** The error for a single item that cannot be read. */
export function unreadable(rejects: readonly Reject[]): MirrorError {
  return new MirrorError(
    'BAD_ANSWER',
    `the item cannot be read: ${rejects.map(({ reason }) => reason).join('; ')}`,
  );
}
