import { createTask, parse, type ScheduledTask } from 'node-cron';

/** A schedule's slots, by the wall clock of its time zone. */
export interface Cron {
  readonly expression: string;
  readonly timezone: string;
  /** The first slot after an instant; both epoch ms. */
  next(after: number): number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Every zone is a multiple of this away from UTC: its hours begin on one, and its minutes differ from UTC's by whole quarters. */
const QUARTER = 15 * MINUTE;
const NEARLY_A_DAY = 20 * 60 * MINUTE;
const ASKED_AGAIN = 6 * 60 * MINUTE;

/** The rarest slot there is: a 29 February that is a certain day of the week, at the worst 40 years off. */
const FARTHEST = 41 * 366 * 24 * 60 * MINUTE;
const REMEMBERED = 64;

/**
 * node-cron reads the expression and says whether an instant is a slot. The next slot is searched for here: node-cron 4.6 counts from the machine's
 * clock alone, and on the day on which the clock is set back it leaves the repeated hour out.
 * @param expression five fields, or six with seconds; checked before (`readConfig`)
 */
export function cronOf(expression: string, timezone: string): Cron {
  const name = `${timezone} ${expression}`;
  const cron = made.get(name) ?? makeCron(expression, timezone);
  made.set(name, cron);
  return cron;
}

/** What was searched for once is known to whoever asks for the same schedule again. */
const made = new Map<string, Cron>();

function makeCron(expression: string, timezone: string): Cron {
  const fields = expression.trim().split(/\s+/);
  const [seconds, minutes, ...rest] = fields.length === 5 ? ['0', ...fields] : fields;
  const task = (...parts: (string | undefined)[]): ScheduledTask =>
    createTask(parts.join(' '), () => undefined, { timezone });
  const slot = task(seconds, minutes, ...rest);
  const hour = task('*', '*', ...rest);
  const day = task('*', '*', '*', ...rest.slice(1));
  const parsed = parse([seconds, minutes, ...rest].join(' '));
  /** Milliseconds into a quarter of an hour at which a slot can lie. */
  const offsets = [
    ...new Set(
      parsed.minute.flatMap((minute) =>
        parsed.second.map((second) => (minute % 15) * MINUTE + second * SECOND),
      ),
    ),
  ].sort((a, b) => a - b);
  const known: { after: number; next: number }[] = [];

  function search(after: number): number {
    const first = floorTo(after, QUARTER);
    for (let quarter = first; quarter < after + FARTHEST; quarter += QUARTER) {
      // A day has 23 hours at the least: one of the schedule's cannot begin and end between two moments so near. To ask costs as much as a quarter
      // does, so it is asked now and then.
      if (quarter === first || quarter % ASKED_AGAIN === 0) {
        while (
          !day.match(new Date(quarter)) &&
          !day.match(new Date(quarter + NEARLY_A_DAY)) &&
          quarter < after + FARTHEST
        )
          quarter += NEARLY_A_DAY;
      }
      // Where the hour is none of the schedule's, no minute of it need be looked at.
      if (offsets.length > 1 && !hour.match(new Date(quarter))) continue;
      const found = offsets
        .map((offset) => quarter + offset)
        .find((at) => at > after && slot.match(new Date(at)));
      if (found !== undefined) return found;
    }
    throw new Error(`the schedule ${expression} has no slot`);
  }

  return {
    expression,
    timezone,
    next(after) {
      const same = known.find((span) => span.after <= after && after < span.next);
      if (same !== undefined) return same.next;
      const next = search(after);
      known.unshift({ after, next });
      known.length = Math.min(known.length, REMEMBERED);
      return next;
    },
  };
}

function floorTo(instant: number, step: number): number {
  return Math.floor(instant / step) * step;
}
