import { describe, expect, test } from 'vitest';
import { passExitCode } from '../../src/cli/pass/outcome.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { EXIT } from '../../src/core/errors.ts';
import { listId } from '../../src/core/lists.ts';
import { daemonHouse } from '../support/daemon.ts';
import { askedSince, changesIn, count, firstInbox, nthInbox, reportOn } from '../support/rows.ts';
import { syncTwice } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const FORBIDDEN = { status: 403, body: '{"errors":[{"message":"no access to this inbox"}]}' };

describe('a 403 for one list', () => {
  test('fails that list alone, names its path, and costs one request to /inboxes', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [5, 5] } });
    const { id } = firstInbox(mirror.sandbox);
    const path = `/inboxes/${id}/tags`;
    mirror.sandbox.script((request) => (request.path.startsWith(`/v1${path}`) ? FORBIDDEN : undefined));
    const report = await mirror.sync();
    expect(report.stopped).toBeNull();
    expect(report.lists.filter(({ outcome }) => outcome !== 'complete')).toEqual([
      expect.objectContaining({
        key: { list: 'tags', inboxId: id },
        outcome: 'failed',
        error: expect.objectContaining({
          code: 'LIST_FORBIDDEN',
          message: expect.stringContaining(`GET ${path} was refused (HTTP 403): no access to this inbox`),
        }),
      }),
    ]);
    expect(passExitCode(report)).toBe(EXIT.unexpected);
    expect(askedSince(mirror.sandbox, 0).filter((asked) => asked.startsWith('/inboxes?'))).toHaveLength(2);
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.find((list) => listId(list) === `tags/${id}`)).toMatchObject({
      failure: expect.stringContaining(path),
      failureCode: 'LIST_FORBIDDEN',
    });
    mirror.sandbox.script(undefined);
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test('for a page in the middle of a list is no refused token', async () => {
    const mirror = await quickMirror({ pageSize: 10, sandbox: { conversations: [30] } });
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? FORBIDDEN : undefined));
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'failed',
      error: { code: 'LIST_FORBIDDEN' },
    });
  });

  test('is the key’s if /inboxes is refused too', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [5, 5] } });
    await mirror.sync();
    mirror.sandbox.script(({ path }) => (path.startsWith('/v1/inboxes?') ? undefined : FORBIDDEN));
    expect((await mirror.sync()).stopped).toBeNull();
    mirror.sandbox.script(() => FORBIDDEN);
    const before = mirror.sandbox.arrivals.length;
    expect((await mirror.sync({ lists: ['tags'] })).stopped).toMatchObject({ code: 'KEY_REFUSED' });
    expect(mirror.sandbox.arrivals.length - before).toBeLessThanOrEqual(3);
    await expect(mirror.sync()).resolves.toMatchObject({ stopped: { code: 'KEY_REFUSED' } });
  });

  test('is tried again by the daemon after 21 hours, also after a restart, while the others are read', async () => {
    const house = await daemonHouse({ sandbox: { conversations: [5, 5] } });
    const { id } = firstInbox(house.sandbox);
    const path = `/v1/inboxes/${id}/conversations`;
    house.sandbox.script((request) => (request.path.startsWith(path) ? FORBIDDEN : undefined));
    const first = await house.start();
    await house.clock.sleep(10 * HOUR);
    await first.stop();
    const second = await house.start();
    await house.clock.sleep(DAY - 9 * HOUR);
    const tries = house.sandbox.arrivals.filter((arrival) => arrival.path.startsWith(path));
    expect(tries).toHaveLength(2);
    expect((await house.late()).map((late) => late.split(' ').slice(0, 2).join(' '))).toEqual([
      `conversations ${id}:`,
    ]);
    await second.stop();
  });

  test('that comes at the same time each night does not keep the daemon from reading the list', async () => {
    const house = await daemonHouse({ sandbox: { conversations: [5, 5] }, pollMs: 5 * MINUTE });
    const { clock, sandbox } = house;
    const path = `/v1/inboxes/${firstInbox(sandbox).id}/conversations`;
    await house.start();
    await clock.sleep(HOUR);
    const night = clock.now();
    sandbox.script((request) =>
      request.path.startsWith(path) && (clock.now() - night) % DAY < HOUR ? FORBIDDEN : undefined,
    );
    await clock.sleep(DAY);
    expect(await house.late()).toEqual([]);
  });

  test('that comes at the only slot of each day does not keep the daemon from reading the list', async () => {
    const house = await daemonHouse({
      sandbox: { conversations: [5, 5] },
      schedules: { conversations: '10 2 * * *' },
      pollMs: 5 * MINUTE,
    });
    const { clock, sandbox } = house;
    const path = `/v1/inboxes/${firstInbox(sandbox).id}/conversations`;
    const isNight = (): boolean => clock.now() % DAY > 2 * HOUR && clock.now() % DAY < 3 * HOUR;
    sandbox.script((request) => (request.path.startsWith(path) && isNight() ? FORBIDDEN : undefined));
    await house.start();
    await clock.sleep(3 * DAY);
    expect(await house.late()).toEqual([]);
  });

  test('for some hours of each night does not keep a list from being read whose walk takes long', async () => {
    const house = await daemonHouse({
      sandbox: { conversations: [100] },
      schedules: { conversations: '0 3 * * *' },
      limits: { pageSize: 10, perDay: 60, reserved: 3 },
      pollMs: 5 * MINUTE,
      readPages: true,
    });
    const { clock, sandbox } = house;
    const path = `/v1/inboxes/${firstInbox(sandbox).id}/conversations`;
    const isNight = (): boolean => clock.now() % DAY > 2 * HOUR && clock.now() % DAY < 8 * HOUR;
    sandbox.script((request) => (request.path.startsWith(path) && isNight() ? FORBIDDEN : undefined));
    await house.start();
    await clock.sleep(4 * DAY);
    expect(await house.late()).toEqual([]);
  });
});

test('an inbox whose access was withdrawn (403) is not taken for one that is gone (404)', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [5, 5, 5] } });
  await mirror.sync();
  const [withdrawn, gone] = [nthInbox(mirror.sandbox, 1), nthInbox(mirror.sandbox, 2)];
  mirror.clock.advance(HOUR);
  for (const { id } of [withdrawn, gone]) mirror.sandbox.world.removeInbox(id);
  mirror.sandbox.script(({ path }) =>
    path.startsWith(`/v1/inboxes/${withdrawn.id}`) ? FORBIDDEN : undefined,
  );
  const report = await syncTwice(mirror);
  expect(reportOn(report, 'inboxes')).toMatchObject({ deleted: 1, suspects: 1 });
  expect((await changesIn(mirror.database)).map(({ item_id: id }) => id)).toEqual([gone.id]);
  expect(await count(mirror.database, `conversations WHERE deleted_at IS NULL`)).toBe(10);
  expect(mirror.events).toContainEqual(
    expect.objectContaining({ kind: 'withheld', cause: expect.stringContaining(`/inboxes/${withdrawn.id}`) }),
  );
});
