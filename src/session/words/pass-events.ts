import { messageOf, messageWithoutAdvice } from '../../core/errors.ts';
import { acceptCommand, describeList, listId } from '../../core/lists.ts';
import type { ListReport, PassEvent } from '../../sync/events.ts';
import type { Log } from '../log.ts';

/**
 * Logs the events of a pass or a sweep: one line per sweep at info, one per page at debug (docs/logging.md).
 * @param stepLevel the level of events between the start and the end of a list
 */
export function logPassEvent(event: PassEvent, log: Log, stepLevel: 'debug' | 'info'): void {
  logProblem(event, log);
  if (event.kind === 'pass-begun' && event.resumedFrom !== null)
    log[stepLevel]({ begun: event.resumedFrom }, 'resuming an interrupted pass');
  else if (event.kind === 'list-begun' && event.resumedAtPage > 0)
    log[stepLevel]({ list: listId(event.key), page: event.resumedAtPage }, 'resuming a half-read list');
  else if (event.kind === 'page') log.debug(pageFields(event), 'page applied');
  else if (event.kind === 'asking')
    log[stepLevel](
      { list: listId(event.key), suspects: event.suspects },
      'requesting rows that were not listed',
    );
  else if (event.kind === 'list-done') logReport(event.report, log);
}

/** Logs the problems that a person must see even if a progress display shows the pass. */
export function logProblem(event: PassEvent, log: Log): void {
  if (event.kind === 'restarted')
    log.warn({ list: listId(event.key), cause: event.cause }, 'page token refused; restarting the list');
  else if (event.kind === 'asking-ended')
    log.warn(
      { list: listId(event.key), cause: event.cause },
      'cannot request the missing rows; they wait for the next complete sweep',
    );
  else if (event.kind === 'fault')
    log.error({ list: listId(event.key), err: event.error }, 'unexpected error; the list rests');
  else if (event.kind === 'withheld')
    log.warn(
      { list: listId(event.key), cause: event.cause },
      'the service does not say whether a row that was not listed exists, so it is not taken for deleted',
    );
  else if (event.kind === 'held')
    log.error(
      { list: listId(event.key), held: event.rows },
      `too many rows, or all of a list, would be marked as deleted; ` +
        `waiting for \`${acceptCommand(event.key)}\``,
    );
  else if (event.kind === 'acquitted')
    log.warn(
      { list: listId(event.key), suspects: event.suspects },
      'the list left out rows that the service still has; they are not marked as deleted',
    );
  else if (event.kind === 'lacking')
    log.warn(
      { list: listId(event.key), field: event.field, rows: event.rows },
      'rows lack a field that the specification promises',
    );
  else if (event.kind === 'unreadable')
    log.warn(
      { list: listId(event.key), rows: event.rows },
      'rows of a page cannot be read; `status` counts those of all pages, and the table `rejects` has them',
    );
  else if (event.kind === 'without-id')
    log.warn(
      { list: listId(event.key), rows: event.rows },
      'rows of a page came without a readable id; nothing of the page is marked as deleted',
    );
  else if (event.kind === 'list-done' && event.report.withoutId > 0)
    log.warn(
      { list: listId(event.report.key), rows: event.report.withoutId },
      'rows came without a readable id; nothing of the list is marked as deleted',
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
  else if (outcome === 'already') log.debug({ list }, 'list already complete');
  else if (outcome === 'skipped') log.debug({ list }, 'list skipped');
  else if (outcome === 'paused') log.debug({ list, cause: messageWithoutAdvice(error) }, 'list paused');
}
