import { expect, test } from 'vitest';
import { DAY } from '../../../src/core/clock.ts';
import { GONE_AFTER_MS } from '../../support/mirror.ts';
import { pageMirror } from '../../support/page-mirror.ts';
import { firstInbox } from '../../support/rows.ts';
import { expectEqualToService } from '../../support/truth.ts';

test('more deletions than a tenth of the rows are held, also if single pages find a few each', async () => {
  const mirror = await pageMirror({}, [200]);
  const { database, sandbox, writer, clock } = mirror;
  const inbox = [...sandbox.world.inboxes.keys()][0]!;
  const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
  for (const id of order.filter((_, index) => index % 3 === 0)) sandbox.world.removeConversation(inbox, id);
  await mirror.readAll();
  const deleted = async (): Promise<number> =>
    (await database.query(`SELECT id FROM conversations WHERE deleted_at IS NOT NULL`)).length;
  expect(await deleted()).toBeLessThanOrEqual(20);
  const held = async (): Promise<number> =>
    (await writer.status(clock.now())).lists.reduce((sum, list) => sum + list.held, 0);
  expect(await held()).toBe(67 - (await deleted()));
  await mirror.sync({ kind: 'resync', lists: ['conversations'], acceptDeletes: true });
  expect(await deleted()).toBe(67);
  expect(await held()).toBe(0);
  await expectEqualToService(mirror);
});

test('rows that the brake holds do not make their page be doubted again and again', async () => {
  const mirror = await pageMirror({}, [200]);
  const { sandbox, writer, clock } = mirror;
  const inbox = [...sandbox.world.inboxes.keys()][0]!;
  const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
  for (const id of order.slice(40, 110)) sandbox.world.removeConversation(inbox, id);
  await mirror.readAll();
  expect(await writer.bookmarks.lost()).toMatchObject([{ cause: 'doubt' }]);
  for (let pass = 0; pass < 2; pass += 1) {
    clock.advance(GONE_AFTER_MS);
    await mirror.sync();
  }
  for (let nth = 0; nth < 3; nth += 1) await mirror.readAll();
  expect(await writer.bookmarks.lost()).toEqual([]);
  expect((await writer.status(clock.now())).lists.find(({ list }) => list === 'conversations')).toMatchObject(
    { held: 70 },
  );
});

test('once rows that the brake held are listed again, one that waits for an answer is not held', async () => {
  const mirror = await pageMirror({}, [200]);
  const { sandbox, writer, clock } = mirror;
  const { id: inbox, conversations, unlisted } = firstInbox(sandbox);
  const [waiting, ...missing] = conversations.order.slice(20, 46);
  const hide = (id: string): void => sandbox.world.unlistConversation(inbox, id);
  const answers = new Map([[waiting!, 403], ...missing.map((id) => [id, 404] as const)]);
  sandbox.script(({ path }) => {
    const status = answers.get(path.replace(/.*\//, ''));
    return status === undefined ? undefined : { status, body: '{}' };
  });
  const held = async (): Promise<number> =>
    (await writer.status(clock.now())).lists.reduce((sum, list) => sum + list.held, 0);
  for (const id of missing) hide(id);
  await mirror.sync();
  clock.advance(GONE_AFTER_MS);
  await mirror.sync();
  expect(await held()).toBe(25);
  unlisted.clear();
  await mirror.readAll();
  hide(waiting!);
  await mirror.readAll();
  expect(await held()).toBe(0);
});

test('the brake counts a day of deletions by single pages, however long their round lasts', async () => {
  const mirror = await pageMirror({}, [120]);
  const { sandbox, database, clock } = mirror;
  const inbox = [...sandbox.world.inboxes.keys()][0]!;
  for (let day = 0; day < 4; day += 1) {
    const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
    const gone = order.filter((_, index) => index % 9 === day);
    for (const id of gone) sandbox.world.removeConversation(inbox, id);
    for (const _ of gone) sandbox.world.addConversation(inbox);
    await mirror.readAll();
    clock.advance(DAY);
  }
  await mirror.readAll();
  const held = await database.query(`SELECT id FROM conversations WHERE missing_since IS NOT NULL
    AND deleted_at IS NULL`);
  expect(held).toEqual([]);
  await expectEqualToService(mirror);
});
