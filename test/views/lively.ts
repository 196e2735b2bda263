import { DAY, HOUR } from '../../src/core/clock.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { markDue } from '../../src/sync/planning/due.ts';
import { cronsOfAll } from '../support/crons.ts';
import type { TestMirror } from '../support/mirror.ts';
import { firstInbox } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';

/**
 * A working week of a small account, read every three hours.
 * @param days 5 for the whole week
 */
export async function livelyMirror(path?: string, days = 5): Promise<TestMirror> {
  const mirror = await quickMirror({
    ...(path === undefined ? {} : { path }),
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
  const end = Date.parse('2026-03-01T18:00:00.000Z') + days * DAY;
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
