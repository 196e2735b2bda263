import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import type { Item, ListKey } from '../src/core/lists.ts';
import { PrismaClient } from '../src/database/generated/sqlite/client.ts';
import { openDatabase } from '../src/database/open.ts';
import { createHttp } from '../src/service/http.ts';
import { KEY, type PhaseSpec } from './processes.ts';
import { walkAll } from './walk.ts';
import type { OpenWay } from './way.ts';

/**
 * The way `usual`: one Prisma upsert for each row, the rows of a page in one transaction. It keeps no
 * ledger, no changes and no tombstones, and cannot resume; all this makes it cheaper.
 */
export async function usualWay({ url, file }: PhaseSpec): Promise<OpenWay> {
  const prisma = await openUsual(file);
  const http = createHttp(url, () => KEY);
  return {
    query: (sql) => prisma.$queryRawUnsafe(sql),
    async walk(onPage) {
      await walkAll(http, (key, items) => upsertPage(prisma, key, items), onPage);
      return { written: null };
    },
    async close() {
      http.close();
      await prisma.$disconnect();
    },
  };
}

/** Prisma's client of a file that it creates, with the tables and the settings of the mirror. */
export async function openUsual(file: string): Promise<PrismaClient> {
  // Creates the tables.
  await (await openDatabase(`file:${file}`)).close();
  const prisma = new PrismaClient({ adapter: new PrismaBetterSqlite3({ url: file, timeout: 10_000 }) });
  // The same settings as on the mirror's connection.
  await prisma.$queryRawUnsafe('PRAGMA journal_mode = WAL');
  await prisma.$executeRawUnsafe('PRAGMA synchronous = FULL');
  await prisma.$executeRawUnsafe('PRAGMA foreign_keys = ON');
  return prisma;
}

/** One upsert for each row of a page, in one transaction. */
export async function upsertPage(
  prisma: PrismaClient,
  { list, inboxId }: ListKey,
  items: readonly Item[],
): Promise<void> {
  const now = new Date();
  const upserts = items.map(({ id, columns, raw, hash }) => {
    const values = { ...columns, raw, content_hash: hash, changed_at: now };
    if (inboxId === null)
      return prisma.inboxes.upsert({
        where: { id },
        create: { id, ...values, first_seen_at: now },
        update: values,
      });
    const key = { inbox_id: inboxId, id };
    const upsert = {
      where: { inbox_id_id: key },
      create: { ...key, ...values, first_seen_at: now },
      update: values,
    };
    if (list === 'users') return prisma.inbox_users.upsert(upsert);
    return list === 'tags' ? prisma.inbox_tags.upsert(upsert) : prisma.conversations.upsert(upsert);
  });
  if (list !== 'conversations' || inboxId === null) {
    await prisma.$transaction(upserts);
    return;
  }
  // Two statements for the tag links of a page: Prisma's client offers nothing cheaper.
  const ids = items.map(({ id }) => id);
  const links = items.flatMap(({ id, tags }) =>
    (tags ?? []).map((tag) => ({ inbox_id: inboxId, conversation_id: id, tag_id: tag })),
  );
  await prisma.$transaction([
    ...upserts,
    prisma.conversation_tags.deleteMany({ where: { inbox_id: inboxId, conversation_id: { in: ids } } }),
    prisma.conversation_tags.createMany({ data: links }),
  ]);
}
