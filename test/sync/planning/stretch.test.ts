import { expect, test } from 'vitest';
import { readConfig } from '../../../src/session/config/config.ts';
import { markDue } from '../../../src/sync/planning/due.ts';
import { recordedCrons, stretchedCrons, stretchOf } from '../../../src/sync/planning/stretch.ts';
import { quickMirror } from '../../support/template.ts';

const DEFAULTS = readConfig({}, '/', { service: false });

/** The schedules of users and tags that a mirror of three inboxes follows, which has six such lists. */
async function followed(
  perDay: number,
  {
    environment = {},
    usersPerInbox = 3,
  }: { environment?: Record<string, string>; usersPerInbox?: number } = {},
): Promise<string[]> {
  const mirror = await quickMirror({
    sandbox: { conversations: [2, 2, 2], usersPerInbox, tagsPerInbox: 3 },
    pageSize: 10,
  });
  await mirror.sync();
  const config = readConfig(environment, '/', { service: false });
  const budget = { ...config.budget, perDay, reserved: 0, pageSize: 10 };
  const { users, tags } = await stretchedCrons(mirror.writer, config, budget);
  return [users.expression, tags.expression];
}

test('the defaults hold where users and tags take at most a twentieth of the requests', async () => {
  expect(await followed(480)).toEqual(['20 */6 * * *', '40 */6 * * *']);
  expect(await followed(479)).toEqual(['20 */12 * * *', '40 */12 * * *']);
  expect(await followed(240)).toEqual(['20 */12 * * *', '40 */12 * * *']);
});

test('no list of them is read less often than once a day', async () => {
  expect(await followed(239)).toEqual(['20 0 * * *', '40 0 * * *']);
  expect(await followed(10)).toEqual(['20 0 * * *', '40 0 * * *']);
});

test('a stretched schedule gets shorter only if that fits with a margin', async () => {
  const mirror = await quickMirror({
    sandbox: { conversations: [2, 2, 2], usersPerInbox: 3, tagsPerInbox: 3 },
  });
  await mirror.sync();
  const usersWith = async (perDay: number): Promise<string> => {
    const budget = { ...DEFAULTS.budget, perDay, reserved: 0 };
    const crons = await stretchedCrons(mirror.writer, DEFAULTS, budget);
    await markDue(mirror.writer.schedules, crons, mirror.clock.now());
    return crons.users.expression;
  };
  expect(await usersWith(479)).toBe('20 */12 * * *');
  expect(await usersWith(480)).toBe('20 */12 * * *');
  expect(await usersWith(600)).toBe('20 */6 * * *');
  expect(await usersWith(480)).toBe('20 */6 * * *');
});

test('inboxes that are only suspected to be gone still count', async () => {
  const mirror = await quickMirror({
    sandbox: { conversations: [2, 2, 2], usersPerInbox: 3, tagsPerInbox: 3 },
  });
  await mirror.sync();
  await mirror.database.execute('UPDATE inboxes SET missing_since = changed_at');
  const budget = { ...DEFAULTS.budget, perDay: 240, reserved: 0 };
  const { users } = await stretchedCrons(mirror.writer, DEFAULTS, budget);
  expect(users.expression).toBe('20 */12 * * *');
});

test('a list of several pages counts each of them', async () => {
  expect(await followed(480, { usersPerInbox: 21 })).toEqual(['20 */12 * * *', '40 */12 * * *']);
});

test('a schedule that is set stays as it is set, and only the other may be stretched', async () => {
  const environment = { SCHEDULE_USERS: '*/10 * * * *' };
  const usual = { SCHEDULE_USERS: '20 */6 * * *', SCHEDULE_TAGS: '40 */6 * * *' };
  expect(await followed(10, { environment: usual })).toEqual(['20 */6 * * *', '40 */6 * * *']);
  expect(await followed(10, { environment })).toEqual(['*/10 * * * *', '40 0 * * *']);
  expect(await followed(240, { environment })).toEqual(['*/10 * * * *', '40 */6 * * *']);
});

test('a mirror without inboxes follows the defaults', async () => {
  const { writer } = await quickMirror({ sandbox: { conversations: [2] } });
  const { users } = await stretchedCrons(writer, DEFAULTS, { ...DEFAULTS.budget, perDay: 1, reserved: 0 });
  expect(users.expression).toBe('20 */6 * * *');
});

test('a command follows what the daemon has recorded, as long as the schedules are the defaults', () => {
  const recorded = [
    { list: 'users', expression: '20 */12 * * *' },
    { list: 'tags', expression: '40 */12 * * *' },
    { list: 'conversations', expression: '0 4 * * *' },
  ] as const;
  const crons = recordedCrons(recorded, DEFAULTS);
  expect([crons.users.expression, crons.conversations.expression]).toEqual(['20 */12 * * *', '0 3 * * *']);
  expect(stretchOf(recorded, DEFAULTS)).toEqual({ lists: ['users', 'tags'], hours: 12 });

  const config = readConfig({ SCHEDULE_USERS: '5 * * * *' }, '/', { service: false });
  expect(recordedCrons(recorded, config).users.expression).toBe('5 * * * *');
  expect(stretchOf(recorded, config)).toEqual({ lists: ['tags'], hours: 12 });
  const unstretched = recorded.map(({ list }) => ({ list, expression: DEFAULTS.schedules[list] }));
  expect(stretchOf(unstretched, DEFAULTS)).toBeNull();
});
