import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import type { StatusMeanings } from '../../src/core/lists.ts';
import { iso } from '../../src/database/instants.ts';
import type { ViewSettings } from '../../src/mirror/settings/views.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { TestClock } from '../support/clock.ts';
import { happening, Happenings } from '../support/happenings.ts';
import { histories } from '../support/histories.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { syncSettled } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import { assignmentsOf, factsOf, handoffsOf, type Interval } from './evaluate-facts.ts';
import { inOrderOfTime, isSetBack } from './evaluate-clock.ts';
import { officeClock } from './evaluate-report.ts';
import { baselineOf, type Seen, type Sighting } from './evaluate.ts';
import { expectDays, expectWaits, keyOf } from './expect-days.ts';
import { expectReports } from './expect-reports.ts';
import { ask, officeHours } from './support.ts';

/** The present state of the service: `inbox/conversation` to status and assignee. */
function stateOf(world: World): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const inbox of world.inboxes.values())
    for (const row of inbox.conversations.values())
      seen.set(`${inbox.id}/${row.id}`, {
        status: row.status === 'close' ? 'closed' : row.status,
        assignee: row.assignee?.assignee_id === undefined ? null : row.assignee.assignee_id,
        tags: row.tag_ids,
        content: JSON.stringify({ ...row, tag_ids: [...row.tag_ids].sort() }),
      });
  return seen;
}

/** Time zones, and a day before a change of their clocks. */
const ZONES = [
  ['UTC', '2026-03-02T08:00:00.000Z'],
  ['Europe/Berlin', '2026-03-28T08:00:00.000Z'],
  ['America/New_York', '2026-10-31T08:00:00.000Z'],
] as const;

/** Values of FINAL_STATUSES and WAITING_STATUSES: the usual ones, more, and others. */
const MEANINGS: readonly StatusMeanings[] = [
  { final: ['close', 'closed'], waiting: ['pending'] },
  { final: ['close', 'closed', 'snoozed'], waiting: ['pending', 'open'] },
  { final: ['pending'], waiting: ['snoozed'] },
];

const HISTORIES = histories(ON_SQLITE ? 5 : 2, 500);

test(
  'after any history, the intervals match every sync, never overlap, and agree with the daily views',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.constantFrom(...ZONES),
        fc.constantFrom(...MEANINGS),
        fc.array(
          fc.record({
            hours: fc.integer({ min: 1, max: 40 }),
            setMinutes: fc.constantFrom(0, 0, 0, -100, -1250, 300),
            /** A sync that breaks off after so many requests comes first. */
            broken: fc.constantFrom(null, null, 2, 4, 6),
            happenings: fc.array(happening, { maxLength: 12 }),
          }),
          {
            minLength: 1,
            maxLength: 6,
          },
        ),
        async (seed, [zone, start], statuses, history) => {
          const mirror = await quickMirror({
            clock: new TestClock(Date.parse(start)),
            sandbox: { seed, conversations: [12, 6], usersPerInbox: 3, tagsPerInbox: 2 },
          });
          const { world } = mirror.sandbox;
          const life = new Happenings(world);
          const seen: Sighting[] = [];
          const sync = async (): Promise<void> => {
            const { stopped } = await syncSettled(mirror);
            expect(stopped).toBeNull();
            mirror.clock.advance(1000);
            seen.push({
              at: iso(mirror.clock.now()),
              inboxes: [...world.inboxes.keys()],
              seen: stateOf(world),
            });
            // In half of the histories the daily views add up stored sums.
            if (seed % 2 === 0) await countPastDays(mirror, zone);
          };
          mirror.clock.advance(HOUR);
          await sync();
          for (const { hours, setMinutes, happenings, broken } of history) {
            mirror.clock.advance(hours * HOUR);
            mirror.clock.setWall(setMinutes * MINUTE);
            passOthers(mirror.clock, seen, zone);
            for (const one of happenings) life.make(one);
            if (broken !== null) await breakOff(mirror, broken);
            await sync();
          }
          if (isSetBack(seen)) {
            while (seen.some(({ at }) => at >= iso(mirror.clock.now()))) mirror.clock.advance(HOUR);
            await sync();
          }
          const sightings = inOrderOfTime(seen);
          if (!isSetBack(seen)) expect(sightings.map(plain)).toEqual(seen.map(plain));
          const settings = { reportTimezone: zone, statuses };
          const status = await intervals(mirror, 'status', settings);
          const assignee = await intervals(mirror, 'assignee_id', settings);
          for (const { at, seen: then } of sightings) {
            expect(seenAt(status, at)).toEqual(
              new Map([...then].map(([key, one]) => [key, one.status] as const)),
            );
            expect(seenAt(assignee, at)).toEqual(
              new Map([...then].map(([key, one]) => [key, one.assignee] as const)),
            );
          }
          for (const all of [status, assignee]) {
            for (const [index, one] of all.entries()) {
              const before = all[index - 1];
              expect(one.to === null || one.to > one.from).toBe(true);
              expect(one.earliest === null || one.earliest <= one.from).toBe(true);
              if (before === undefined || before.key !== one.key) continue;
              expect(before.to).not.toBeNull();
              expect((before.to ?? '') <= one.from).toBe(true);
              // After an absence, the next interval began after the one before had ended.
              if (before.to !== one.from && one.earliest !== null)
                expect(one.earliest >= (before.to ?? '')).toBe(true);
              // Without an absence between them, adjacent intervals differ in value.
              if (before.to === one.from && !isSetBack(seen)) expect(before.value).not.toBe(one.value);
            }
          }
          // Both kinds of intervals cover the same time: the conversation's presence.
          expect(presence(status)).toEqual(presence(assignee));
          await expectDays(mirror, { seen, sightings }, settings);
          await expectWaits(mirror, { seen, sightings }, settings);
          await expectFacts(mirror, { status, assignee }, settings);
          const tag = await intervals(mirror, 'tag_id', settings);
          await expectReports(mirror, { seen, sightings }, { status, assignee, tag }, settings);
          await mirror.database.close();
        },
      ),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);

type Mirror = Awaited<ReturnType<typeof quickMirror>>;

/**
 * Lets time pass until a sync takes place beside all others and within a day: each instant is of one sync. It
 * takes place after the first sight of each inbox: before that, nothing of it is known.
 */
function passOthers(clock: TestClock, seen: readonly Sighting[], zone: string): void {
  const isNear = ({ at }: Sighting): boolean => Math.abs(Date.parse(at) - clock.now()) < HOUR;
  const dayOf = (at: number): string => new Date(at).toLocaleDateString('en-CA', { timeZone: zone });
  const isLate = (): boolean => dayOf(clock.now()) !== dayOf(clock.now() + HOUR);
  const inboxes = seen.at(-1)!.inboxes.map((inbox) => seen[baselineOf(seen, inbox)]!.at);
  const known = Date.parse([seen[0]!.at, ...inboxes].sort().at(-1)!);
  while (clock.now() < known || seen.some(isNear) || isLate()) clock.advance(10 * MINUTE);
}

/** A sync whose service fails after so many requests, if it needs more. */
async function breakOff(mirror: Mirror, requests: number): Promise<void> {
  let left = requests;
  mirror.sandbox.script(() => (left-- > 0 ? undefined : { status: 500 }));
  await mirror.sync();
  mirror.sandbox.script(undefined);
  mirror.clock.advance(MINUTE);
}

/** What a sighting says, in a form that compares: the order of tags says nothing. */
function plain({ at, inboxes, seen }: Sighting): object {
  const rows = [...seen].map(([key, { status, assignee, tags }]) =>
    JSON.stringify([key, status, assignee, tags.toSorted()]),
  );
  return { at, inboxes: inboxes.toSorted(), rows: rows.sort() };
}

/** Writes the days and their sums, as the daemon's housekeeping does. */
async function countPastDays({ writer, clock }: Mirror, reportTimezone: string): Promise<void> {
  await writer.keepViewSettings({ reportTimezone, budget: { perDay: 5000, reserved: 250 } }, clock.now());
  await writer.countDays(clock.now());
}
type Settings = Required<Pick<ViewSettings, 'reportTimezone' | 'statuses'>>;

async function intervals(
  mirror: Mirror,
  column: 'status' | 'assignee_id' | 'tag_id',
  settings: Settings,
): Promise<Interval[]> {
  const view = `${column.replace('_id', '')}_intervals`;
  const rows = await ask(
    mirror,
    `SELECT * FROM ${view} ORDER BY inbox_id, conversation_id, from_at`,
    settings,
  );
  return rows.map((row) => ({
    key: keyOf(row),
    value: row[column] as string | null,
    from: row['from_at'] as string,
    earliest: row['from_earliest'] as string | null,
    to: row['to_at'] as string | null,
    isLowerBound: row['is_lower_bound'],
  }));
}

/** The value of each conversation at an instant, according to the intervals. */
function seenAt(all: readonly Interval[], at: string): Map<string, string | null> {
  const then = all.filter(({ from, to }) => from <= at && (to === null || to > at));
  expect(new Set(then.map(({ key }) => key)).size).toBe(then.length);
  return new Map(then.map(({ key, value }) => [key, value] as const));
}

/** The times during which each conversation was present, with any value. */
function presence(all: readonly Interval[]): string[] {
  const stays: [key: string, from: string, to: string | null][] = [];
  for (const { key, from, to } of all) {
    const last = stays.at(-1);
    if (last !== undefined && last[0] === key && last[2] === from) last[2] = to;
    else stays.push([key, from, to]);
  }
  return stays.map((stay) => JSON.stringify(stay));
}

/** Checks the views of one conversation's history, by its intervals. */
async function expectFacts(
  mirror: Mirror,
  { status: statuses, assignee: assignees }: Record<'status' | 'assignee', readonly Interval[]>,
  settings: Settings,
): Promise<void> {
  const now = mirror.clock.now();
  const began = Math.min(now, ...statuses.map(({ from }) => Date.parse(from)));
  const office = officeClock(officeHours(settings.reportTimezone), began, now);
  const expected = factsOf(statuses, assignees, { now: iso(now), meanings: settings.statuses, office });
  const rows = await ask(mirror, `SELECT * FROM conversation_facts`, settings);
  expect(rows.length).toBe(expected.size);
  for (const row of rows) expect(row, keyOf(row)).toMatchObject(expected.get(keyOf(row))!);
  const assigned = assignmentsOf(assignees);
  const assignments = await ask(mirror, `SELECT * FROM assignments`, settings);
  expect(assignments.length).toBe(assigned.size);
  for (const row of assignments) expect(row, keyOf(row)).toMatchObject(assigned.get(keyOf(row))!);
  const handoffs = await ask(mirror, `SELECT * FROM handoffs`, settings);
  expect(
    new Map(
      handoffs.map((row) => [
        ['inbox_id', 'from_assignee_id', 'to_assignee_id'].map((name) => row[name]).join(' '),
        [row['handoffs'], row['conversations']],
      ]),
    ),
  ).toEqual(handoffsOf(assignees));
}
