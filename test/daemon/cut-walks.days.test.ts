import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import type { TestHouse } from '../support/daemon.ts';
import { pagesHouse } from '../support/pages-house.ts';
import { count } from '../support/rows.ts';

const EMPTY = { status: 200, body: '{"results":[],"pagination":{"next_page":null}}' };

/** A request for a later page of conversations, with its token. */
const LATER_PAGE = /\/conversations\?.*next_page=([^&]*)/;

/** The id after which the page of a sandbox's token begins. */
function idIn(token: string): bigint {
  const { cursor } = JSON.parse(Buffer.from(token, 'base64').toString()) as { cursor: string };
  return BigInt(/\d+/.exec(Buffer.from(cursor, 'base64').toString().replaceAll('_', ''))![0]);
}

/** One inbox of full pages, the newest first. */
function newestFirst(conversations: number, activityPerHour: number): Promise<TestHouse> {
  return pagesHouse({
    limits: { pageSize: 10, perDay: 900, reserved: 45, perSecond: 1 },
    sandbox: { conversations: [conversations], listOrder: 'desc', perDay: 900, activityPerHour },
  });
}

/** For some ms, later pages of conversations are empty if `isEmpty` says so of their number, from 1. */
function emptyFor({ clock, sandbox }: TestHouse, ms: number, isEmpty: (nth: number) => boolean): void {
  const until = clock.now() + ms;
  let later = 0;
  sandbox.script(({ path }) => {
    if (!LATER_PAGE.test(path) || clock.now() > until) return undefined;
    later += 1;
    return isEmpty(later) ? EMPTY : undefined;
  });
}

async function expectWhole({ sandbox, database }: TestHouse): Promise<void> {
  const [inbox] = sandbox.world.inboxes.values();
  expect(await count(database, 'conversations')).toBeGreaterThanOrEqual(inbox!.conversations.size - 5);
}

describe('a walk that an empty page ends before the end of its list', () => {
  test('in a first copy leaves no row unread for more than a cover', async () => {
    const house = await newestFirst(900, 2);
    emptyFor(house, HOUR, (nth) => nth > 20);
    await house.start();
    await house.clock.sleep(1.6 * DAY);
    await expectWhole(house);
  });

  test('reads the rest within hours if the page has rows again at once', async () => {
    const house = await newestFirst(1000, 2);
    emptyFor(house, 10 * MINUTE, (nth) => nth === 20);
    await house.start();
    await house.clock.sleep(14 * HOUR);
    await expectWhole(house);
  });

  test('takes few readings while the page stays empty', async () => {
    const house = await newestFirst(1200, 6);
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(10 * HOUR);
    const [inbox] = sandbox.world.inboxes.values();
    const middle = BigInt(inbox!.conversations.order[600]!);
    let empty = 0;
    sandbox.script(({ path }) => {
      const token = LATER_PAGE.exec(path)?.[1];
      if (token === undefined || idIn(decodeURIComponent(token)) > middle) return undefined;
      empty += 1;
      return EMPTY;
    });
    await clock.sleep(DAY);
    expect(empty).toBeGreaterThan(2);
    expect(empty).toBeLessThan(40);
  });
});

test('many conversations that are moved into the middle of a list are read within hours', async () => {
  const house = await newestFirst(1000, 0);
  const { clock, sandbox, database } = house;
  const { world } = sandbox;
  const [from] = world.inboxes.values();
  const to = world.addInbox({ display_name: 'Merged' });
  const move = (ids: readonly string[]): void => {
    for (const id of ids) world.addConversation(to.id, { ...world.removeConversation(from!.id, id) });
  };
  const ids = [...from!.conversations.order];
  move([...ids.slice(0, 50), ...ids.slice(-50)]);
  await house.start();
  await clock.sleep(20 * HOUR);
  expect(await count(database, `conversations WHERE inbox_id = '${to.id}'`)).toBe(100);
  move(ids.slice(100, 800));
  await clock.sleep(12 * HOUR);
  expect(await count(database, `conversations WHERE inbox_id = '${to.id}'`)).toBe(800);
});
