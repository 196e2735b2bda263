import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Measured } from './meter.ts';

export const KEY = 'sandbox-key';
export const PAGE_SIZE = 100;

/** A sandbox that answers, and how many rows all its lists have. */
export interface Service {
  readonly url: string;
  readonly rows: number;
}

/**
 * The ways to do the job. `mirror`: ours, all real parts. `usual`: the same pages, one Prisma upsert a row. `fetch`: the same
 * pages fetched and read, nothing stored: what both have in common.
 */
export type Way = 'mirror' | 'usual' | 'fetch';

/** What a phase's process is to do. */
export interface PhaseSpec {
  readonly way: Way;
  readonly url: string;
  readonly file: string;
  /** Walks over all lists; `fewestPages` repeats them until so many pages are in. */
  readonly fewestPages: number;
  /** Tells memory and CPU after every so many pages; 0: never. */
  readonly sampleEvery: number;
}

/** Where a phase stood after so many pages. */
export interface Sample {
  readonly pages: number;
  readonly rssMb: number;
  /** CPU ms per page since the sample before. */
  readonly cpuPerPage: number;
}

export interface PhaseResult extends Measured {
  readonly pages: number;
  readonly rows: number;
  readonly samples: readonly Sample[];
  /** Rows that the phase wrote into mirrored tables, where it knows. */
  readonly written: number | null;
  /** A hash over what the mirrored tables hold afterwards: equal for equal content, whoever wrote it. */
  readonly digest: string | null;
}

/** Starts the sandbox; closing is ending its process, by our own handle. */
export async function startService(size: {
  conversations: number;
  inboxes: number;
}): Promise<Service & { close(): void }> {
  const child = fork(join(import.meta.dirname, 'service.ts'), [JSON.stringify(size)]);
  const service = await firstMessage<Service>(child);
  return { ...service, close: () => child.disconnect() };
}

/** What bin/inbox-mirror.cjs begins with. Both ways get it. */
const LAUNCHED_AS = ['--require', join(import.meta.dirname, '../bin/memory.cjs')];

/** Runs one phase in a process of its own, so that its CPU and its peak memory are its alone. */
export async function runPhase(
  spec: PhaseSpec,
  { profileTo }: { profileTo: string | undefined },
): Promise<PhaseResult> {
  const profile = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
  const child = fork(join(import.meta.dirname, 'phase.ts'), [JSON.stringify(spec)], {
    execArgv: [...LAUNCHED_AS, '--expose-gc', ...profile],
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
      reject(new Error(`${child.spawnargs.slice(1, 4).join(' ')} ended with ${code} and no result`)),
    );
  });
}
