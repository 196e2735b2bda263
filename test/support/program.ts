import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, inject, onTestFinished } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { MirrorError } from '../../src/core/errors.ts';
import type { Io } from '../../src/session/terminal.ts';
import { type Sandbox, type SandboxOptions, createSandbox } from '../../src/sandbox/sandbox.ts';
import { temporaryFolder } from './mirror.ts';

/** A key that no other text contains by chance. */
export const SECRET = 'k3y-T0p.S3cret~9f8e7d';

export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A working folder, a sandbox, and the program, which runs in this process as its user would run it. */
export interface TestProgram {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly env: Record<string, string>;
  run(...argv: string[]): Promise<Ran>;
  /** Like `run`, but stops the program as Ctrl-C does once `when()` is true at a request's arrival. */
  runUntil(when: () => boolean, ...argv: string[]): Promise<Ran>;
}

/** A program whose folder holds a mirror without rows: to make one costs 120 ms, and 250 ms in a process. */
export async function testProgram(
  options: Partial<SandboxOptions> = {},
  env: Record<string, string> = {},
): Promise<TestProgram> {
  const program = await newProgram(options, env);
  if (env['DATABASE_URL'] === undefined) copyFileSync(inject('templateFile'), mirrorFile(program));
  return program;
}

/** A program whose folder is empty: its first command makes the mirror, or refuses to work without one. */
export async function newProgram(
  options: Partial<SandboxOptions> = {},
  env: Record<string, string> = {},
): Promise<TestProgram> {
  const folder = temporaryFolder();
  const sandbox = createSandbox({ rate: 0, perDay: 0, key: SECRET, ...options });
  const { url, close } = await sandbox.listen();
  onTestFinished(() => close());
  const program: TestProgram = {
    folder,
    sandbox,
    env: {
      INBOX_API_URL: url,
      INBOX_API_KEY: SECRET,
      REQUESTS_PER_SECOND: '500',
      LOG_LEVEL: 'trace',
      ...env,
    },
    run: (...argv) => execute(program, argv, new AbortController()),
    runUntil(when, ...argv) {
      const stop = new AbortController();
      sandbox.script(() => {
        if (when()) stop.abort(new MirrorError('STOPPED', 'Stopped by SIGINT.'));
        return undefined;
      });
      return execute(program, argv, stop).finally(() => sandbox.script(undefined));
    },
  };
  return program;
}

/** The surroundings of a session of this program that shows nothing, except for `other` parts. */
export function quietIo({ env, folder }: TestProgram, other: Partial<Io> = {}): Io {
  const silent = { write: () => undefined };
  const { signal } = new AbortController();
  return { env, cwd: folder, version: '1', stdout: silent, stderr: silent, signal, ...other };
}

async function execute({ env, folder }: TestProgram, argv: string[], stop: AbortController): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  const io = {
    env,
    cwd: folder,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    signal: stop.signal,
  };
  const exitCode = await runProgram(argv, io, '0.0.0-test');
  expect(stdout + stderr, 'the key is nowhere in the output').not.toContain(SECRET);
  return { exitCode, stdout, stderr };
}

/** The path of a test program's mirror. */
export function mirrorFile({ folder }: TestProgram): string {
  return join(folder, 'mirror.db');
}

/** Edits a test program's mirror directly, to reach a state that would take hours. */
export function tamper(program: TestProgram, sql: string): void {
  withMirror(program, (database) => database.exec(sql));
}

/** The first row of a query in a test program's mirror. */
export function askMirror(program: TestProgram, sql: string): unknown {
  return withMirror(program, (database) => database.prepare(sql).get());
}

function withMirror<Result>(program: TestProgram, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(mirrorFile(program));
  try {
    return work(database);
  } finally {
    database.close();
  }
}
