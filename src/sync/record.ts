import { type ErrorCode, MirrorError } from '../core/errors.ts';
import type { ListReport } from './events.ts';

/** A pass's report as JSON in `sync_requests.report`, for the command that ordered it in another process. */
export interface PassRecord {
  readonly lists: readonly (Omit<ListReport, 'error'> & { readonly error: ErrorRecord | null })[];
  readonly stopped: ErrorRecord | null;
}

interface ErrorRecord {
  readonly code: ErrorCode | null;
  readonly message: string;
  readonly resumeAt: string | null;
}

interface Outcome {
  readonly lists: readonly ListReport[];
  readonly stopped: unknown;
}

export function asRecord({ lists, stopped }: Outcome): PassRecord {
  return {
    lists: lists.map((report) => ({ ...report, error: errorRecord(report.error) })),
    stopped: errorRecord(stopped),
  };
}

export function fromRecord({ lists, stopped }: PassRecord): Outcome {
  return {
    lists: lists.map((report) => ({ ...report, error: asError(report.error) })),
    stopped: asError(stopped),
  };
}

function errorRecord(error: unknown): ErrorRecord | null {
  if (error === null || error === undefined) return null;
  if (error instanceof MirrorError)
    return { code: error.code, message: error.message, resumeAt: error.resumeAt?.toISOString() ?? null };
  return {
    code: null,
    message: error instanceof Error ? error.message : JSON.stringify(error),
    resumeAt: null,
  };
}

function asError(record: ErrorRecord | null): Error | null {
  if (record === null) return null;
  if (record.code === null) return new Error(record.message);
  return new MirrorError(record.code, record.message, {
    resumeAt: record.resumeAt === null ? undefined : new Date(record.resumeAt),
  });
}
