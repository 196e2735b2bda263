import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Measured } from './meter.ts';

export const KEY = 'sandbox-key';
export const PAGE_SIZE = 100;

/** A running sandbox, and the number of rows in all its lists. */
export interface Service {
  readonly url: string;
  readonly rows: number;
}

/**
 * The ways that are compared. `mirror`: our code, all parts real. `usual`: the same pages, with one Prisma
 * upsert for each row. `fetch`: the same pages, fetched and parsed but not stored; both other ways include
 * this work.
 */
export type Way = 'mirror' | 'usual' | 'fetch';

/** The work of a phase's process. */
export interface PhaseSpec {
  readonly way: Way;
  readonly url: string;
  readonly file: string;
  /** The process repeats the walk over all lists until it has read this many pages. */
  readonly fewestPages: number;
  /** Pages between two samples of memory and CPU; 0: no samples. */
  readonly sampleEvery: number;
}

/** Memory and CPU of a phase after `pages` pages. */
export interface Sample {
  readonly pages: number;
  readonly rssMb: number;
  /** CPU milliseconds per page since the previous sample. */
  readonly cpuPerPage: number;
}

export interface PhaseResult extends Measured {
  readonly pages: number;
  readonly rows: number;
  readonly samples: readonly Sample[];
  /** Rows that the phase wrote to mirrored tables; null: unknown. */
  readonly written: number | null;
  /** A hash over the mirrored tables afterwards, equal for equal content; null: no database. */
  readonly digest: string | null;
}

/** Starts the sandbox in a child process. `close` ends that process. */
export async function startService(size: {
  conversations: number;
  inboxes: number;
}): Promise<Service & { close(): void }> {
  const child = fork(join(import.meta.dirname, 'service.ts'), [JSON.stringify(size)]);
  const service = await firstMessage<Service>(child);
  return { ...service, close: () => child.disconnect() };
}

/** All ways load this module first, as bin/inbox-mirror.cjs does. */
export const LAUNCH_OPTIONS = ['--require', join(import.meta.dirname, '../bin/memory.cjs')];

/** Runs one phase in a new process, so that CPU time and peak memory belong to this phase only. */
export async function runPhase(
  spec: PhaseSpec,
  { profileTo }: { profileTo: string | undefined },
): Promise<PhaseResult> {
  const profile = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
  const child = fork(join(import.meta.dirname, 'phase.ts'), [JSON.stringify(spec)], {
    execArgv: [...LAUNCH_OPTIONS, '--expose-gc', ...profile],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const result = await firstMessage<PhaseResult>(child);
  await exited;
  return result;
}

async function firstMessage<Message>(child: ReturnType<typeof fork>): Promise<Message> {
  return await new Promise<Message>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Message));
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(
        new Error(`${child.spawnargs.slice(1, 4).join(' ')} exited with code ${code} and sent no result`),
      ),
    );
  });
}
