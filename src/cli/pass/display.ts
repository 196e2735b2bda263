import { createLogUpdate } from 'log-update';
import { duration, inClockTimes } from '../../core/humanize.ts';
import { describeList, listId } from '../../core/lists.ts';
import type { Log } from '../../session/log.ts';
import { logPassEvent, logProblem, pageFields } from '../../session/words/pass-events.ts';
import type { Display, Session } from '../../session/session.ts';
import type { InboxNames } from '../../session/words/names.ts';
import { type Output, paint, printLine } from '../../session/terminal.ts';
import type { PassEvent } from '../../sync/events.ts';
import { Bars, type Pace } from './bars.ts';

/** The bars are redrawn once in this many ms, not at each event. */
const REDRAW_MS = 200;

/** Without bars, a list's progress is logged after this many pages: half a minute at the service's pace. */
const PAGES_A_LOG_LINE = 30;

/** Shows a pass while it runs: bars on a terminal, log lines elsewhere. */
export interface PassDisplay extends Display {
  event(event: PassEvent): void;
  /** Shows why the pass waits, and for how long if `until` is known. An empty text removes the note. */
  note(text: string, until?: Date): void;
  stopping(): void;
  end(): void;
}

export interface DisplayDeps {
  readonly pace: Pace;
  readonly log: Log;
  readonly names: InboxNames;
  /** The time zone of the times of day. */
  readonly timezone: string;
  /** Epoch ms. */
  readonly now: () => number;
}

/** Shows a pass on `output` while `work` runs, together with the session's log lines and gate events. */
export async function withDisplay<Result>(
  output: Output,
  { attach, config, clock, log, mirror, names }: Session,
  work: (display: PassDisplay) => Promise<Result>,
): Promise<Result> {
  const pace = { budget: config.budget, sentBefore: await mirror.budget.sentInWindow(clock.now()) };
  const display = passDisplay(output, { pace, log, names, timezone: config.reportTimezone, now: clock.now });
  const detach = attach(display);
  try {
    return await work(display);
  } finally {
    detach();
    display.end();
  }
}

export function passDisplay(output: Output, deps: DisplayDeps): PassDisplay {
  return output.isTTY === true ? barDisplay(output, deps) : lineDisplay(output, deps);
}

function barDisplay(output: Output, { pace, log, names, timezone, now }: DisplayDeps): PassDisplay {
  const update = createLogUpdate(output as NodeJS.WriteStream);
  const bars = new Bars(pace, names.of, now());
  const draw = (): void => update(inColour(output, bars.render(now(), output.columns ?? 80)));
  const timer = setInterval(draw, REDRAW_MS);
  return {
    event(event) {
      names.after(event);
      bars.apply(event);
      if (event.kind === 'page') bars.note('');
      logProblem(event, log);
    },
    gateEvent(event) {
      if (event.kind === 'paused') bars.note(`No request is sent now: ${event.cause}.`, event.until);
      else if (event.kind === 'slowed') bars.note(SLOWED, event.until);
      else if (event.kind === 'spent') bars.note(SPENT, event.until);
      else if (event.kind === 'retry') {
        const { key, waitMs, cause } = event;
        const inbox = key?.inboxId == null ? null : names.of(key.inboxId);
        const list = key === null ? '' : ` ${describeList(key, inbox)}`;
        bars.note(`Retrying${list} in ${duration(waitMs)}: ${cause}`);
      } else if (event.kind === 'opened') bars.note('');
    },
    note: (text, until) => bars.note(inClockTimes(text, now(), timezone), until),
    writeLog(line) {
      update.clear();
      output.write(line);
      draw();
    },
    stopping() {
      bars.note('Stopping after the current page … (Ctrl-C again stops at once)');
      draw();
    },
    end() {
      clearInterval(timer);
      update.clear();
      update.done();
    },
  };
}

const SLOWED =
  'Requests leave more slowly after answers of 429 (too many requests); each good answer shortens the gap.';
const SPENT =
  "The day's budget is spent; the next request leaves when one of yesterday's leaves the 24 hours.";

/** The bars in colour: what is read, and what is left or unknown. */
function inColour(output: Output, text: string): string {
  return text
    .replaceAll(/█+/g, (read) => paint(output, 'cyan', read))
    .replaceAll(/░+|·{2,}/g, (left) => paint(output, 'dim', left));
}

function lineDisplay(output: Output, { log }: DisplayDeps): PassDisplay {
  /** The page at which each list last logged its progress. */
  const loggedPages = new Map<string, number>();
  let lastNote = '';
  return {
    event(event) {
      logPassEvent(event, log, 'info');
      logProgress(event, log, loggedPages);
    },
    gateEvent: () => undefined,
    note(text) {
      if (text !== '' && text !== lastNote) printLine(output, text);
      lastNote = text;
    },
    writeLog: (line) => output.write(line),
    stopping: () => output.write('Stopping after the current page …\n'),
    end: () => undefined,
  };
}

/** Counts the pages since the last log line: a command that follows an order does not see every page. */
function logProgress(event: PassEvent, log: Log, loggedPages: Map<string, number>): void {
  if (event.kind === 'list-begun') loggedPages.set(listId(event.key), event.resumedAtPage);
  if (event.kind !== 'page') return;
  const list = listId(event.key);
  const since = event.pages - (loggedPages.get(list) ?? 0);
  if (since >= 0 && since < PAGES_A_LOG_LINE) return;
  loggedPages.set(list, event.pages);
  log.info(pageFields(event), 'under way');
}
