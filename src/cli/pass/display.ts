import { createLogUpdate } from 'log-update';
import { duration } from '../../core/humanize.ts';
import { listId } from '../../core/lists.ts';
import type { Log } from '../../session/log.ts';
import { logPassEvent, logProblem, pageFields } from '../../session/pass-log.ts';
import type { GateEvent } from '../../session/session.ts';
import type { Output } from '../../session/terminal.ts';
import type { PassEvent } from '../../sync/events.ts';
import { type Pace, Progress } from './bars.ts';

const REDRAW_MS = 200;

/** Where there are no bars, a long list gives a sign of life about so often: half a minute at the service's pace. */
const PAGES_A_SIGN_OF_LIFE = 30;

/** Shows a pass as it goes: bars on a terminal, log lines elsewhere. */
export interface PassDisplay {
  begin(pace: Pace): void;
  event(event: PassEvent, log: Log): void;
  gateEvent(event: GateEvent): void;
  /** Why nothing moves, as long as that is so; empty when it does again. */
  note(text: string): void;
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
      if (event.kind === 'paused')
        progress?.note(`Paused for ${duration(event.until.getTime() - now())}: ${event.cause}`);
      else if (event.kind === 'retry')
        progress?.note(`Trying again in ${duration(event.waitMs)}: ${event.cause}`);
      else if (event.kind === 'opened') progress?.note('');
    },
    note: (text) => progress?.note(text),
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
  /** The page of each list that a sign of life was last given at. */
  const signs = new Map<string, number>();
  let noted = '';
  return {
    begin: () => undefined,
    event(event, log) {
      logPassEvent(event, log, 'info');
      logSignOfLife(event, log, signs);
    },
    gateEvent: () => undefined,
    note(text) {
      if (text !== '' && text !== noted) output.write(`${text}\n`);
      noted = text;
    },
    writeLog: (line) => output.write(line),
    stopping: () => output.write('Stopping after the page in hand …\n'),
    end: () => undefined,
  };
}

/** By the pages since the last sign, not at certain pages: whoever follows from another process does not see each of them. */
function logSignOfLife(event: PassEvent, log: Log, signs: Map<string, number>): void {
  if (event.kind === 'list-begun') signs.set(listId(event.key), event.resumedAtPage);
  if (event.kind !== 'page') return;
  const list = listId(event.key);
  const since = event.pages - (signs.get(list) ?? 0);
  if (since >= 0 && since < PAGES_A_SIGN_OF_LIFE) return;
  signs.set(list, event.pages);
  log.info(pageFields(event), 'under way');
}
