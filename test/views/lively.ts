import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inject, onTestFinished } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { codeOf } from '../../src/core/errors.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { markDue } from '../../src/sync/planning/due.ts';
import { cronsOfAll } from '../support/crons.ts';
import { TestClock } from '../support/clock.ts';
import { type TestMirror, temporaryDatabase, temporaryFolder } from '../support/mirror.ts';
import { createDatabase, ON_SQLITE, onServer, postgresUrl, PROVIDER, TEMPLATE } from '../support/provider.ts';
import { firstInbox } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';

/** When a mirror of so many lively days ends. */
const endOf = (days: number): number => Date.parse('2026-03-01T18:00:00.000Z') + days * DAY;

/** A copy of the mirror of a whole lively week, and its place. */
export interface LivelyWeek extends Pick<TestMirror, 'database' | 'clock'> {
  readonly place: string;
}

/**
 * Copies the mirror of a lively week. The first test of a run that asks for it on a database makes it there:
 * its passes take seconds.
 */
export async function livelyWeek(): Promise<LivelyWeek> {
  const place = await copyOf(await sharedWeek());
  return { place, database: await temporaryDatabase(place), clock: new TestClock(endOf(5)) };
}

/** Makes the mirror, or waits while another worker makes it. @returns a path, or the name of a database */
async function sharedWeek(): Promise<string> {
  const folder = join(dirname(inject('templateFile')), `lively-${PROVIDER}`);
  const made = `${folder}.txt`;
  while (!existsSync(made)) {
    try {
      mkdirSync(folder);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      // Another worker makes it.
      await pause(50);
      continue;
    }
    try {
      const name = ON_SQLITE ? join(folder, 'mirror.db') : await createDatabase(TEMPLATE);
      if (ON_SQLITE) copyFileSync(inject('templateFile'), name);
      const mirror = await livelyMirror(ON_SQLITE ? name : postgresUrl(name), 5);
      await mirror.lease.release();
      await mirror.database.close();
      writeFileSync(`${made}.new`, name);
      renameSync(`${made}.new`, made);
    } finally {
      if (!existsSync(made)) rmSync(folder, { recursive: true });
    }
  }
  return readFileSync(made, 'utf8');
}

async function copyOf(shared: string): Promise<string> {
  if (ON_SQLITE) {
    const path = join(temporaryFolder(), 'mirror.db');
    copyFileSync(shared, path);
    return path;
  }
  const name = await createDatabase(shared);
  onTestFinished(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`));
  return postgresUrl(name);
}

/** Some working days of a small account, read every three hours. */
export async function livelyMirror(path: string, days: number): Promise<TestMirror> {
  const mirror = await quickMirror({
    path,
    sandbox: { seed: 11, conversations: [24, 10], usersPerInbox: 4, tagsPerInbox: 4, idType: 'string' },
  });
  const { world } = mirror.sandbox;
  let state = 3;
  const next = (below: number): number =>
    Math.floor(((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32) * below);
  for (const inbox of world.inboxes.values())
    for (const id of inbox.conversations.order)
      if (next(4) === 0) Object.assign(world.conversation(inbox.id, id), { status: 'open', assignee: null });
  await mirror.sync();
  const end = endOf(days);
  for (let at = Date.parse('2026-03-02T09:00:00.000Z'); at <= end; at += 3 * HOUR) {
    mirror.clock.advance(Math.max(0, at - 10_000 - mirror.clock.now()));
    const night = at % (24 * HOUR) < 8 * HOUR;
    for (const inbox of night ? [] : world.inboxes.values()) {
      const ids = inbox.conversations.order;
      const any = (): string => ids[next(ids.length)]!;
      world.setStatus(inbox.id, any(), ['pending', 'closed', 'open', 'closed'][next(4)]!);
      world.assign(inbox.id, any(), inbox.users.order[next(inbox.users.order.length)]!);
      if (next(3) === 0) world.addConversation(inbox.id, { status: 'open', assignee: null });
      const newest = inbox.conversations.order.at(-1)!;
      if (next(2) === 0) world.assign(inbox.id, newest, inbox.users.order[next(4)]!);
      if (next(5) === 0) world.setStatus(inbox.id, newest, 'pending');
    }
    if (at === Date.parse('2026-03-04T12:00:00.000Z')) changeOneOfEach(world);
    await mirror.sync();
  }
  mirror.clock.advance(end - mirror.clock.now());
  const crons = cronsOfAll('*/15 * * * *');
  await markDue(mirror.writer.schedules, crons, end);
  await mirror.writer.keepSlots(crons, end);
  return mirror;
}

/** Changes an inbox, one of its users and one of its tags. */
function changeOneOfEach(world: World): void {
  const inbox = firstInbox({ world });
  Object.assign(inbox, { is_authorised: false });
  Object.assign([...inbox.users.values()].at(-1) ?? {}, { phone_number: '+15550100' });
  Object.assign([...inbox.tags.values()].at(-1) ?? {}, { color_code: '#2E86AB' });
}
