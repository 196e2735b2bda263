import { type Budget, scheduledCap } from '../../core/budget.ts';
import { keysByInbox, listId, type ListName } from '../../core/lists.ts';
import type { Schedule } from '../../mirror/schedules.ts';
import { type AgendaMirror, remainingCost } from './agenda.ts';
import { type Cron, cronsOf } from './cron.ts';

/** The schedules as the environment sets them. */
export interface ScheduleSettings {
  readonly schedules: Readonly<Record<ListName, string>>;
  readonly timezone: string;
  /** Users and tags, as far as their schedules are not set: only those may be stretched. */
  readonly stretchable: readonly ListName[];
}

/** Schedules that are stretched: these lists are read every `hours` hours. */
export interface Stretch {
  readonly lists: readonly ListName[];
  readonly hours: number;
}

/**
 * If the schedules that may stretch need more than this share of the scheduled requests, they take the next
 * longer step. The last step may need more.
 */
const MOST_FOR_STRETCHABLE = 0.05;

/** A shorter step must fit into this part of that share, so that a few lists more do not change it daily. */
const MARGIN = 0.8;

/** The hours in the default schedule of users and tags, and what may take their place. */
const STEPS = [
  { field: '*/6', hours: 6 },
  { field: '*/12', hours: 12 },
  { field: '0', hours: 24 },
] as const;

/**
 * The schedules for the lists that the mirror has now. The lists of users and tags seldom change, but there
 * are two for each inbox: 100 inboxes would spend 800 requests a day on them. The daemon and `sync` record
 * what they follow in `schedules`.
 */
export async function stretchedCrons(
  mirror: Pick<AgendaMirror, 'inboxes' | 'sweeps' | 'schedules'>,
  settings: ScheduleSettings,
  budget: Pick<Budget, 'perDay' | 'reserved' | 'pageSize'>,
): Promise<Record<ListName, Cron>> {
  const { schedules, timezone, stretchable } = settings;
  if (stretchable.length === 0) return cronsOf(schedules, timezone);
  const sweeps = await mirror.sweeps.latest();
  let requests = 0;
  // Suspected inboxes count too: they may come back.
  for (const key of keysByInbox(await mirror.inboxes())) {
    const complete = (sweeps.get(listId(key)) ?? []).filter(({ state }) => state === 'complete');
    if (stretchable.includes(key.list)) requests += remainingCost(complete, budget);
  }
  const most = MOST_FOR_STRETCHABLE * scheduledCap(budget);
  const present = stretchOf(await mirror.schedules.all(), settings)?.hours ?? 0;
  const fits = ({ hours }: (typeof STEPS)[number]): boolean =>
    (requests * 24) / hours <= (hours < present ? MARGIN * most : most);
  const { field } = STEPS.find(fits) ?? STEPS.at(-1)!;
  const stretched = { ...schedules };
  for (const list of stretchable) stretched[list] = withHours(schedules[list], field);
  return cronsOf(stretched, timezone);
}

/** A kind of list and the schedule that it follows. */
type Followed = Pick<Schedule, 'list' | 'expression'>;

/**
 * The schedules that the daemon or the last `sync` follows: those of users and tags that no variable sets are
 * the recorded ones.
 * @param recorded the rows of `schedules`
 */
export function recordedCrons(
  recorded: readonly Followed[],
  settings: ScheduleSettings,
): Record<ListName, Cron> {
  const schedules = { ...settings.schedules };
  for (const { list, expression } of recorded)
    if (settings.stretchable.includes(list)) schedules[list] = expression;
  return cronsOf(schedules, settings.timezone);
}

/** Which of the followed schedules are stretched; null: none. */
export function stretchOf(
  followed: readonly Followed[],
  settings: Pick<ScheduleSettings, 'schedules' | 'stretchable'>,
): Stretch | null {
  const stretched = stretchedIn(followed, settings);
  const [first] = stretched;
  return first === undefined ? null : { lists: stretched.map(({ list }) => list), hours: first.hours };
}

function stretchedIn(
  followed: readonly Followed[],
  { schedules, stretchable }: Pick<ScheduleSettings, 'schedules' | 'stretchable'>,
): (Followed & { readonly hours: number })[] {
  return stretchable.flatMap((list) => {
    const expression = followed.find((one) => one.list === list)?.expression ?? schedules[list];
    const step = STEPS.find(({ field }) => withHours(schedules[list], field) === expression);
    return step === undefined || expression === schedules[list]
      ? []
      : [{ list, expression, hours: step.hours }];
  });
}

/** The schedule with another field for its hours. */
function withHours(expression: string, hours: string): string {
  const [minute, , ...days] = expression.split(' ');
  return [minute, hours, ...days].join(' ');
}
