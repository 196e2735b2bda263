import { createLogUpdate } from 'log-update';
import { describeList, listId } from '../core/lists.ts';
import { duration } from '../core/words.ts';
import type { Log } from '../log.ts';
import type { GateEvent } from '../service/gate.ts';
import type { PassEvent } from '../sync/events.ts';
import type { Output } from './io.ts';
import { type Pace, Progress } from './progress.ts';

const REDRAW_MS = 200;
/** Where there are no bars, a long list gives a sign of life about so often: half a minute at the service's pace. */
const PAGES_A_SIGN_OF_LIFE = 30;

/** Shows a pass as it goes: bars on a terminal, log lines elsewhere. */
export interface PassDisplay {
  begin(pace: Pace): void;
  event(event: PassEvent, log: Log): void;
  gateEvent(event: GateEvent): void;
  writeLog(line: string): void;
  stopping(): void;
  end(): void;
}

export function passDisplay(output: Output, now: () => number): PassDisplay {
  return output.isTTY === true ? bars(output, now) : lines(output);
}

function bars(output: Output, now: () => number): PassDisplay {
  const update = createLogUpdate(output as NodeJS.WriteStream);
  let progress: Progress | null = null;
  let timer: NodeJS.Timeout | undefined;
  const draw = (): void => {
    if (progress !== null) update(progress.render(now(), output.columns ?? 80));
  };
  return {
    begin(pace) {
      progress = new Progress(pace, now());
      timer = setInterval(draw, REDRAW_MS);
    },
    event(event, log) {
      progress?.take(event);
      if (event.kind === 'page') progress?.note('');
      logProblem(event, log);
    },
    gateEvent(event) {
      if (event.kind === 'paused') progress?.note(`Paused for ${duration(event.until.getTime() - now())}: ${event.cause}`);
      else if (event.kind === 'retry') progress?.note(`Trying again in ${duration(event.waitMs)}: ${event.cause}`);
      else if (event.kind === 'opened') progress?.note('');
    },
    writeLog(line) {
      update.clear();
      output.write(line);
      draw();
    },
    stopping() {
      progress?.note('Stopping after the page in hand … (Ctrl-C again stops at once)');
      draw();
    },
    end() {
      clearInterval(timer);
      update.clear();
      update.done();
    },
  };
}

function lines(output: Output): PassDisplay {
  return {
    begin: () => undefined,
    event(event, log) {
      logProblem(event, log);
      logProgress(event, log);
    },
    gateEvent: () => undefined,
    writeLog: (line) => output.write(line),
    stopping: () => output.write('Stopping after the page in hand …\n'),
    end: () => undefined,
  };
}

function logProblem(event: PassEvent, log: Log): void {
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
  else if (event.kind === 'list-done' && event.report.error instanceof Error && event.report.outcome === 'failed') {
    log.error({ list: listId(event.report.key), cause: event.report.error.message }, 'list failed');
  }
}

function logProgress(event: PassEvent, log: Log): void {
  if (event.kind === 'pass-begun' && event.resumedFrom !== null)
    log.info({ begun: event.resumedFrom }, 'going on with an interrupted pass');
  else if (event.kind === 'list-begun' && event.resumedAtPage > 0)
    log.info({ list: listId(event.key), pages: event.resumedAtPage }, 'going on with a half-read list');
  else if (event.kind === 'page') {
    const fields = { list: listId(event.key), page: event.pages, rows: event.items, changed: event.changed };
    log.debug(fields, 'page applied');
    if (event.pages % PAGES_A_SIGN_OF_LIFE === 0) log.info(fields, 'under way');
  } else if (event.kind === 'asking')
    log.info({ list: listId(event.key), suspects: event.suspects }, 'asking for rows that were not listed');
  else if (event.kind === 'list-done' && event.report.outcome === 'complete') {
    const { key, items, inserted, changed, deleted, rejected, suspects } = event.report;
    log.info({ list: listId(key), rows: items, inserted, changed, deleted, rejected, suspects }, `${describeList(key)} complete`);
  }
}
