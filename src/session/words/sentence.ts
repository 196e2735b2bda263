import { MINUTE } from '../../core/clock.ts';
import { clockTime, duration, fromNow, inClockTimes, plural } from '../../core/humanize.ts';
import { describeList, readListId } from '../../core/lists.ts';

/** A line of the log, as pino writes it. */
type Line = Readonly<Record<string, unknown>>;

/** Fields that the sentence shows at its own places, or that only a program needs. */
const APART = new Set(['level', 'time', 'msg', 'list', 'cause', 'err', 'pid', 'kind']);

/** Rows by what was done to them. Zeros are left out, except of `rows`. */
const COUNTS = ['rows', 'inserted', 'changed', 'deleted', 'rejected', 'suspects'];

/** A field in words; `now` is the line's time in epoch ms. Any other field is shown with its name. */
const WORDS: Readonly<Record<string, (value: never, now: number, zone: string) => string>> = {
  order: (id: number) => `order ${id}`,
  by: (command: string) => `by \`${command}\``,
  lists: (lists: number) => plural(lists, 'list'),
  held: (rows: number) => plural(rows, 'row'),
  sent: (requests: number) => `after ${plural(requests, 'request')}`,
  page: (page: number) => plural(page, 'page'),
  change: (id: number) => `change ${id}`,
  failure: (times: number) => `attempt ${times} failed`,
  waitMs: (ms: number) => `next attempt in ${duration(ms)}`,
  ms: (ms: number) => `in ${duration(ms)}`,
  begun: (at: string, now: number) => `begun ${fromNow(new Date(at), now)}`,
  since: (at: string, now: number, zone: string) => `since ${clockTime(new Date(at), now, zone)}`,
  until: (at: string, now: number, zone: string) => {
    const ms = Date.parse(at) - now;
    // A time of day has no seconds.
    return `for ${duration(ms)}${ms < MINUTE ? '' : `, until ${clockTime(new Date(at), now, zone)}`}`;
  },
};

/** How a log line names an inbox and a time for people. */
export interface SentenceOptions {
  /** The inbox's name; null: unknown. */
  readonly inboxName: (id: string) => string | null;
  /** The time zone of the times of day. */
  readonly timezone: string;
}

/** A log line as one sentence: message, list and other fields, counts, cause. A bug's stack follows it. */
export function sentenceOf(line: Line, { inboxName, timezone }: SentenceOptions): string {
  const now = Date.parse(String(line['time']));
  const others = Object.entries(line)
    .filter(([name, value]) => !APART.has(name) && !COUNTS.includes(name) && value !== undefined)
    .map(([name, value]) => WORDS[name]?.(value as never, now, timezone) ?? `${name} ${asWord(value)}`);
  const beside = others.length === 0 ? '' : ` (${others.join(', ')})`;
  const counts = COUNTS.filter((name) => line[name] !== undefined && (line[name] !== 0 || name === 'rows'));
  const counted = counts
    .map((name) => `${asWord(line[name])} ${name === 'suspects' ? 'not listed' : name}`)
    .join(', ');
  const cause = line['cause'] === undefined ? '' : `: ${asWord(line['cause'])}`;
  const head = withList(asWord(line['msg']), asWord(line['list']), inboxName);
  const text = inClockTimes(`${head}${beside}${counted && `: ${counted}`}${cause}`, now, timezone);
  return `${text}${stackOf(line['err'])}`;
}

/** The message with its list: in place of the list's id, or before the message. */
function withList(message: string, list: string, inboxName: SentenceOptions['inboxName']): string {
  const key = readListId(list);
  if (key === null) return message;
  const named = describeList(key, key.inboxId === null ? null : inboxName(key.inboxId));
  const plain = describeList(key);
  return message.startsWith(plain) ? named + message.slice(plain.length) : `${named}: ${message}`;
}

function asWord(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return '';
  return `\n${String(error.stack)}`;
}
