import { describeList, listId } from '../core/lists.ts';
import type { ListReport, PassEvent } from '../sync/events.ts';
import type { Log } from './log.ts';

/**
 * Writes a pass's or a sweep's events to the log: one line a sweep at info, one a page at debug (docs/logging.md).
 * @param onTheWay the level of what happens between a list's begin and its end
 */
export function logPassEvent(event: PassEvent, log: Log, onTheWay: 'debug' | 'info'): void {
  logProblem(event, log);
  if (event.kind === 'pass-begun' && event.resumedFrom !== null)
    log[onTheWay]({ begun: event.resumedFrom }, 'going on with an interrupted pass');
  else if (event.kind === 'list-begun' && event.resumedAtPage > 0)
    log[onTheWay]({ list: listId(event.key), page: event.resumedAtPage }, 'going on with a half-read list');
  else if (event.kind === 'page') log.debug(pageFields(event), 'page applied');
  else if (event.kind === 'asking')
    log[onTheWay](
      { list: listId(event.key), suspects: event.suspects },
      'asking for rows that were not listed',
    );
  else if (event.kind === 'list-done') logReport(event.report, log);
}

/** What a person should know whatever else is shown of the pass. */
export function logProblem(event: PassEvent, log: Log): void {
  if (event.kind === 'restarted')
    log.warn({ list: listId(event.key), cause: event.cause }, 'page token refused, list begins anew');
  else if (event.kind === 'asking-ended')
    log.warn(
      { list: listId(event.key), cause: event.cause },
      'asking for missing rows failed; they wait for the next complete sweep',
    );
  else if (event.kind === 'lacking')
    log.warn(
      { list: listId(event.key), field: event.field, rows: event.rows },
      'rows came without a field that the specification promises',
    );
  else if (event.kind === 'list-done' && event.report.outcome === 'failed')
    log.error({ list: listId(event.report.key), cause: messageOf(event.report.error) }, 'list failed');
}

/** A page's fields in the log. */
export function pageFields({ key, pages, items, changed }: Extract<PassEvent, { kind: 'page' }>): object {
  return { list: listId(key), page: pages, rows: items, changed };
}

function logReport({ key, outcome, error, ...report }: ListReport, log: Log): void {
  const { items, inserted, changed, deleted, rejected, suspects } = report;
  const list = listId(key);
  if (outcome === 'complete')
    log.info(
      { list, rows: items, inserted, changed, deleted, rejected, suspects },
      `${describeList(key)} complete`,
    );
  else if (outcome !== 'failed') log.debug({ list, cause: messageOf(error) }, `list ${outcome}`);
}

function messageOf(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined;
}
