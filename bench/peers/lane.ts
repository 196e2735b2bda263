import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY } from '../processes.ts';
import type { Counts, Lanes } from './lanes.ts';
import type { Copy, Peer, Place, Start } from './peer.ts';

/** A run that takes longer than this is killed and counts as failed. */
const LONGEST_RUN_MS = 6 * 60_000;

/** Of one run, all its processes together. They live at the same time, so their peaks add up. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly peakRssMb: number;
}

export interface Run extends Usage {
  readonly seconds: number;
  /** Why it failed; null: it ended with exit code 0. */
  readonly failure: string | null;
}

/** A started run. `stop` sends a signal to all its processes. */
export interface Running {
  readonly ended: Promise<Run>;
  isOver(): boolean;
  stop(signal: 'SIGTERM' | 'SIGKILL'): void;
}

/** Every run that has not ended. */
const underWay = new Set<ChildProcess>();

/** Ends all runs at once: they are process groups of their own, and Ctrl-C does not reach them. */
export function endAllRuns(): void {
  for (const child of underWay) signalGroup(child, 'SIGKILL');
}

/** One peer with a folder and a sandbox of its own. */
export class Lane {
  readonly name: string;
  readonly peer: Peer;
  readonly #lanes: Lanes;
  readonly #place: Place;
  readonly #env: Readonly<Record<string, string>>;
  #runs = 0;

  private constructor(name: string, peer: Peer, lanes: Lanes, place: Place, env: Record<string, string>) {
    this.name = name;
    this.peer = peer;
    this.#lanes = lanes;
    this.#place = place;
    this.#env = env;
  }

  /** Starts the sandbox and makes the folder. `env` are further variables for the peer. */
  static async open(
    { name, peer, env = {} }: { name: string; peer: Peer; env?: Readonly<Record<string, string>> },
    { lanes, folder, conversations }: { lanes: Lanes; folder: string; conversations: number[] },
  ): Promise<Lane> {
    const place = {
      folder: join(folder, name.replaceAll(/\W+/g, '-')),
      url: await lanes.open(name, conversations),
    };
    mkdirSync(place.folder, { recursive: true });
    return new Lane(name, peer, lanes, place, { ...env });
  }

  read(): Copy {
    return this.peer.read(this.#place);
  }

  async counts(): Promise<Counts> {
    return await this.#lanes.counts(this.name);
  }

  /** Starts the peer's run of everything. */
  once(): Running {
    return this.#start(this.peer.once(this.#place), LONGEST_RUN_MS);
  }

  /** Starts the process of the peer that stays; null: it has none. */
  stay(expression: string): Running | null {
    return this.peer.resident === null ? null : this.#start(this.peer.resident(expression), null);
  }

  #start({ command, args, env, files, output }: Start, longestMs: number | null): Running {
    this.#runs += 1;
    const { folder, url } = this.#place;
    const fileOf = (name: string): string => join(folder, name);
    const [log, usage] = [fileOf(`log-${this.#runs}.txt`), fileOf(`usage-${this.#runs}.jsonl`)];
    for (const [name, text] of Object.entries(files ?? {})) writeFileSync(fileOf(name), text);
    const out = openSync(output === undefined ? log : fileOf(`${output}.part`), 'w');
    const err = openSync(log, 'a');
    const from = performance.now();
    const child = spawn(command, args, {
      cwd: folder,
      // A group of its own: a signal reaches all processes of a pipe.
      detached: true,
      stdio: ['ignore', out, err],
      env: {
        ...process.env,
        INBOX_API_URL: url,
        INBOX_API_KEY: KEY,
        PEER_USAGE: usage,
        ...env,
        ...this.#env,
      },
    });
    for (const file of [out, err]) closeSync(file);
    const stop = (signal: 'SIGTERM' | 'SIGKILL'): void => signalGroup(child, signal);
    const timer = longestMs === null ? undefined : setTimeout(() => stop('SIGKILL'), longestMs);
    underWay.add(child);
    const ended = endOf(child).then((failure) => {
      clearTimeout(timer);
      underWay.delete(child);
      if (failure === null && output !== undefined) renameSync(fileOf(`${output}.part`), fileOf(output));
      return {
        seconds: (performance.now() - from) / 1000,
        failure: because(failure, log),
        ...usageIn(usage),
      };
    });
    return { ended, isOver: () => !underWay.has(child), stop };
  }
}

function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    // The run has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Resolves when the process has ended, to why it failed; null: exit code 0. */
async function endOf(child: ChildProcess): Promise<string | null> {
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve(`it did not start: ${error.message}`));
    child.once('close', (code, signal) => resolve(code === 0 ? null : `it ended with ${signal ?? code}`));
  });
}

function because(failure: string | null, log: string): string | null {
  if (failure === null) return null;
  return `${failure}; its log ends with: ${readFileSync(log, 'utf8').trim().slice(-300)}`;
}

/** A killed process has written nothing. */
function usageIn(file: string): Usage {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const all = lines.map((line) => JSON.parse(line) as Usage);
  return {
    cpuSeconds: all.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    peakRssMb: all.reduce((sum, { peakRssMb }) => sum + peakRssMb, 0),
  };
}
