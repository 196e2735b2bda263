import { MirrorError } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { openReadOnly } from '../open.ts';
import { readRows } from '../reads/rows.ts';
import { Visits } from '../reads/visits.ts';
import type { Cell, ReadOnlyMirror } from '../result.ts';

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

/** @param url the mirror's */
export function openLane(url: string): Lane {
  const visits = new Visits({
    url,
    connect: (cut, limitMs) => openReadOnly(url, cut.signal, { ms: limitMs }),
    firstRead: (mirror) => readRows(mirror, 'SELECT 1'),
    tooSlow,
  });
  return {
    visit: (limitMs, work) =>
      visits.visit(limitMs, (mirror) => work((sql, ...values) => readRows(mirror, sql, ...values), mirror)),
    close: () => visits.close(),
  };
}

function tooSlow(ms: number): MirrorError {
  return new MirrorError(
    'DATABASE',
    `The figures took longer than ${duration(ms)} to read. Reload the page; if that does not help, ask for ` +
      'less.',
  );
}
