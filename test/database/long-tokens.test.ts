import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROVIDER } from '../support/provider.ts';
import { count } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const MIGRATION = join(
  import.meta.dirname,
  `../../prisma/${PROVIDER}/migrations/20261122101000_long_tokens/migration.sql`,
);

test('the migration to short page tokens begins an open sweep again that holds a long one, and no other', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [30, 30] }, pageSize: 10 });
  await mirror.sync();
  const { database, writer, clock, sandbox } = mirror;
  const [long, short] = Array.from(sandbox.world.inboxes.values(), ({ id }) => id);
  const open = (inboxId = '') =>
    writer.sweeps.open({ list: 'conversations', inboxId }, 'schedule', clock.now());
  for (const [inbox, token] of [
    [long, 't'.repeat(8193)],
    [short, 't'.repeat(8192)],
  ] as const) {
    const { id } = await open(inbox);
    await database.execute(
      `INSERT INTO sweep_pages (sweep_id, page_no, token, item_ids, fetched_at)
       SELECT $1, page_no, CASE WHEN page_no = 2 THEN $2 END, item_ids, fetched_at FROM sweep_pages
       WHERE page_no < 3
         AND sweep_id = (SELECT max(id) FROM sweeps WHERE inbox_id = $3 AND list = 'conversations' AND id < $1)`,
      id,
      token,
      inbox,
    );
    await database.execute(`UPDATE sweeps SET pages = 2, next_page = 'next' WHERE id = $1`, id);
    await database.execute(`UPDATE bookmarks SET token = $1 WHERE inbox_id = $2`, token, inbox);
  }
  for (const statement of readFileSync(MIGRATION, 'utf8').split(/;\s*$/m))
    if (statement.trim() !== '') await database.execute(statement);
  expect(await open(long)).toMatchObject({ pages: 0, nextPage: null, tokens: new Set() });
  expect(await open(short)).toMatchObject({ pages: 2, nextPage: 'next' });
  const bookmarks = (id = '') =>
    count(database, 'bookmarks NATURAL JOIN bookmark_lists WHERE inbox_id = $1', id);
  expect(await bookmarks(long)).toBe(0);
  expect(await bookmarks(short)).toBeGreaterThan(0);
  await writer.sweeps.restart(await open(short));
  await mirror.sync();
  await expectEqualToService(mirror);
});
