import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { unlessAborted } from '../../core/abortable.ts';
import { EXIT, MirrorError } from '../../core/errors.ts';
import { openReadOnly } from '../../query/open.ts';
import { readerConfig } from '../../session/reader.ts';
import type { Format, Io } from '../../session/terminal.ts';
import { parseTimeout } from '../arguments.ts';

/** The options as words. */
export interface QueryOptions {
  readonly format: Format;
  readonly timeout?: string;
}

/** Runs one query and prints its rows, until it is stopped or its time is over. @returns the exit code */
export async function runQuery(io: Io, argument: string, { format, timeout }: QueryOptions): Promise<number> {
  const most = timeout === undefined ? null : parseTimeout(timeout);
  const config = readerConfig(io);
  const sql = argument === '-' ? await unlessAborted(text(process.stdin), io.signal) : argument;
  const late = new AbortController();
  const timer = most === null ? undefined : setTimeout(() => late.abort(tooLate(timeout ?? '')), most);
  const signal = AbortSignal.any([io.signal, late.signal]);
  try {
    const mirror = await openReadOnly(config.databaseUrl, signal);
    try {
      const asked = mirror.query(sql);
      // Loaded while the database is at work.
      const [{ printRows }, result] = await Promise.all([import('../output/rows.ts'), asked]);
      // As bin/memory.cjs, but now that all is loaded: it would cost the thread's start.
      setFlagsFromString('--semi-space-growth-factor=1');
      await printRows(io, result, format, signal);
      return EXIT.done;
    } finally {
      await mirror.close();
    }
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(timeout: string): MirrorError {
  const length = /\d$/.test(timeout) ? `${timeout}s` : timeout;
  return new MirrorError(
    'DATABASE',
    `The query was stopped: it took longer than ${length} (--timeout). What it had printed is not all.`,
  );
}
