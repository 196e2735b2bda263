import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { happening, type Happening, Happenings } from '../support/happenings.ts';
import { findWrongIntervals } from '../../src/mirror/history/intervals/check.ts';
import { dropViews } from '../../src/database/views/views.ts';
import { histories } from '../support/histories.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { read, READING } from '../support/readings.ts';
import { casesOf } from '../support/rule.ts';
import { syncedMirror, syncSettled } from '../support/settle.ts';
import { step } from '../support/steps.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { Trial } from '../support/trial.ts';

const MINUTE = 60_000;
const HISTORIES = ON_SQLITE ? histories(3, 400) : histories(1, 60);
const SMALL: Partial<SandboxOptions> = {
  idType: 'string',
  conversations: [24, 11],
  usersPerInbox: 3,
  tagsPerInbox: 3,
};

const SPANS = ['status_spans', 'assignee_spans', 'tag_spans'];

const round = fc.record({
  happenings: fc.array(happening, { maxLength: 12 }),
  minutes: fc.constantFrom(0, 1, 15, 90),
  setMinutes: fc.constantFrom(0, 0, 0, -1, -100, 300),
  reading: READING,
  nth: fc.nat(20),
});

test(
  'whatever happens to conversations and inboxes, the stored intervals are those that `changes` define',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.array(round, { minLength: 2, maxLength: 10 }),
        async (seed, rounds) => {
          const mirror = await quickMirror({ pageSize: 10, sandbox: { seed, ...SMALL } });
          const life = new Happenings(mirror.sandbox.world);
          for (const { happenings, minutes, setMinutes, reading, nth } of rounds) {
            for (const one of happenings) life.make(one);
            mirror.clock.advance(minutes * MINUTE);
            mirror.clock.setWall(setMinutes * MINUTE);
            await read(mirror, reading, nth);
            expect(await mirror.writer.wrongIntervals()).toEqual([]);
          }
          await mirror.database.close();
        },
      ),
      { ...HISTORIES.parameters, endOnFailure: true },
    );
  },
  HISTORIES.timeoutMs,
);

test(
  'after each step of a trial with faults, restored backups and other hosts, the stored intervals are right',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.array(step, { minLength: 3, maxLength: 25 }),
        async (seed, history) => {
          const trial = await Trial.begin(1000, { seed, ...SMALL });
          for (const one of history) {
            await trial.take(one);
            expect(await trial.mirror.writer.wrongIntervals(), JSON.stringify(one)).toEqual([]);
          }
          await trial.mirror.database.close();
        },
      ),
      { ...HISTORIES.parameters, endOnFailure: true },
    );
  },
  HISTORIES.timeoutMs,
);

/** A history as events at the service, and the minutes by which a person sets the clock. */
const SET_BACK: [title: string, steps: (Happening['kind'] | number)[]][] = [
  ['a conversation goes, then its inbox goes', ['remove', -300, 'remove-inbox']],
  ['an inbox goes and returns, then a conversation goes', ['remove-inbox', -300, 'return-inbox', 'remove']],
  ['an inbox goes, returns and goes', ['remove-inbox', -300, 'return-inbox', 'remove-inbox']],
  ['one field changes, then another, then the first', ['status', -90, 'assign', 'unassign', 'status']],
  ['fields change, then a tag is removed', [-180, 'status', 'assign', 'untag']],
  ['fields change, then a conversation goes', [-180, 'status', 'assign', 'remove']],
  ['a conversation is added and changes', ['add', -90, 'status', 'assign', 'tag', 'untag']],
  [
    'a conversation goes, returns and changes',
    ['remove', -300, 'return', 'status', 'assign', 'tag', 'untag'],
  ],
];

test.for(casesOf(SET_BACK, 2))(
  'a clock that is set back leaves the intervals right: %s',
  async ([, steps]) => {
    const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [3] } });
    const life = new Happenings(mirror.sandbox.world);
    for (const [nth, one] of steps.entries()) {
      if (typeof one === 'number') mirror.clock.setWall(one * MINUTE);
      else for (const row of [0, 1, 2, 3]) life.make({ kind: one, inbox: 0, row, other: row + nth });
      mirror.clock.advance(MINUTE);
      await syncSettled(mirror);
      expect(await mirror.writer.wrongIntervals(), String(one)).toEqual([]);
    }
  },
);

test('an upgrade computes the intervals of the history so far', async () => {
  const path = await freshMirrorFile();
  const mirror = await quickMirror({ path, pageSize: 10, sandbox: { seed: 7, ...SMALL } });
  const { database, sandbox } = mirror;
  const life = new Happenings(sandbox.world);
  await mirror.sync();
  const kinds = [
    'status',
    'assign',
    'untag',
    'tag',
    'add',
    'remove',
    'remove-inbox',
    'return',
    'return-inbox',
  ];
  for (const [nth, kind] of kinds.entries()) {
    for (let row = 0; row < 6; row += 1)
      life.make({ kind: kind as Happening['kind'], inbox: 0, row: row * 3, other: row + nth });
    mirror.clock.advance(60 * MINUTE);
    await syncSettled(mirror);
  }
  const counts = async (): Promise<unknown> =>
    await Promise.all(SPANS.map((table) => database.query(`SELECT count(*) AS n FROM ${table}`)));
  const before = await counts();
  await dropViews(database);
  for (const table of SPANS) await database.execute(`DROP TABLE ${table}`);
  await database.execute(
    `DELETE FROM _prisma_migrations
     WHERE migration_name LIKE '%_intervals' OR migration_name LIKE '%_status_before'`,
  );
  const migrated = await temporaryDatabase(path);
  expect(await counts()).toEqual(before);
  expect(await findWrongIntervals(migrated, migrated.dialect)).toEqual([]);
});
