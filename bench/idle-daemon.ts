/** Runs `inbox-mirror start` in this process, and answers each message with what it has used so far. */
import { runProgram } from '../src/cli/program.ts';
import { MirrorError } from '../src/core/errors.ts';
import { cpuMs, rssMb } from './meter.ts';

/** The CPU time and memory that the process has used since its start. */
export interface Usage {
  /** Epoch ms. */
  readonly at: number;
  readonly cpuMs: number;
  /** Without garbage. */
  readonly rssMb: number;
}

const stop = new AbortController();
process.once('disconnect', () => stop.abort(new MirrorError('STOPPED', 'The benchmark is over.')));
process.on('message', () => {
  const used = { at: Date.now(), cpuMs: cpuMs() };
  globalThis.gc?.();
  process.send?.({ ...used, rssMb: rssMb() } satisfies Usage);
});
const { env, stderr } = process;
const stdout = { write: () => true };
process.exitCode = await runProgram(
  ['start'],
  { env, cwd: process.cwd(), stdout, stderr, signal: stop.signal },
  '0.0.0-bench',
);
