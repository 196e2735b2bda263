import { MirrorError } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { isPostgres } from '../../database/open.ts';
import { openReadOnly } from '../open.ts';
import type { Cell, ReadOnlyMirror } from '../result.ts';

/** The thread of a lane ends after this many ms without a visit. */
const IDLE_MS = 60_000;

/** Reads the rows of one statement with `$1` parameters. The statement limits its rows itself. */
export type Read = <Row>(sql: string, ...values: Cell[]) => Promise<Row[]>;

/** Reads figures off the main thread, one visit at a time. */
export interface Lane {
  /**
   * Runs `work` over one connection that cannot write.
   * @throws MirrorError `DATABASE` if it takes more than `limitMs` of real time, its wait for earlier visits
   *   aside; `USAGE` if there is no mirror
   */
  visit<Result>(
    limitMs: number,
    work: (read: Read, mirror: ReadOnlyMirror) => Promise<Result>,
  ): Promise<Result>;
  close(): Promise<void>;
}

interface Connection {
  readonly mirror: ReadOnlyMirror;
  readonly cut: AbortController;
}

/**
 * @param url the mirror's. SQLite keeps its thread for a minute, because the start takes longer than a read.
 */
export function openLane(url: string): Lane {
  let last: Promise<unknown> = Promise.resolve();
  let kept: Connection | null = null;
  let idle: NodeJS.Timeout | undefined;

  async function connect(): Promise<Connection> {
    const cut = new AbortController();
    return { mirror: await openReadOnly(url, cut.signal), cut };
  }

  async function release(): Promise<void> {
    clearTimeout(idle);
    const connection = kept;
    kept = null;
    await connection?.mirror.close();
  }

  async function run<Result>(
    limitMs: number,
    work: (read: Read, mirror: ReadOnlyMirror) => Promise<Result>,
  ): Promise<Result> {
    clearTimeout(idle);
    kept ??= await connect();
    const { mirror, cut } = kept;
    const timer = setTimeout(() => cut.abort(tooSlow(limitMs)), limitMs);
    try {
      const result = await work((sql, ...values) => rowsOf(mirror, sql, values), mirror);
      // On a server a kept transaction would hold back its housekeeping and show one moment for ever.
      if (isPostgres(url)) await release();
      else idle = setTimeout(() => void release(), IDLE_MS).unref();
      return result;
    } catch (error) {
      await release();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async visit(limitMs, work) {
      const turn = last.then(() => run(limitMs, work));
      last = turn.catch(() => undefined);
      return await turn;
    },
    async close() {
      kept?.cut.abort(new MirrorError('STOPPED', 'The daemon stops.'));
      await last;
      await release();
    },
  };
}

async function rowsOf<Row>(mirror: ReadOnlyMirror, sql: string, values: readonly Cell[]): Promise<Row[]> {
  const { columns, rows } = await mirror.query(sql, values);
  const found: Row[] = [];
  for await (const cells of rows)
    found.push(Object.fromEntries(columns.map(({ name }, index) => [name, cells[index]])) as Row);
  return found;
}

function tooSlow(ms: number): MirrorError {
  return new MirrorError(
    'DATABASE',
    `The figures took longer than ${duration(ms)} to read. Reload the page; if that does not help, ask for ` +
      'less.',
  );
}
