/**
 * The script that a good developer writes in an afternoon: got's pagination with a pause between pages and
 * its retries, Prisma's upsert, node-cron. With a cron expression it stays; without one it runs once. With
 * MARK_GONE=1 it also marks the conversations as deleted that a complete run has not seen.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';
import { schedule } from 'node-cron';
import type { ListKey } from '../../../src/core/lists.ts';
import type { PrismaClient } from '../../../src/database/generated/sqlite/client.ts';
import { readRows } from '../../../src/service/resources.ts';
import { openUsual, upsertPage } from '../../usual-way.ts';

/** The service allows one request a second. */
const PAUSE_MS = 1000;

interface Page {
  readonly results: unknown[];
  readonly pagination: { readonly next_page: string | null };
}

const http = got.extend({
  headers: { authorization: `Bearer ${process.env['INBOX_API_KEY']}` },
  responseType: 'json',
  // 429 and 5xx after 1, 2, 4 … seconds.
  retry: { limit: 7 },
  timeout: { request: 30_000 },
});

async function* pagesOf(path: string): AsyncGenerator<Page> {
  const searchParams = { limit: 100 };
  yield* http.paginate.each<Page>(`${process.env['INBOX_API_URL']}${path}`, {
    searchParams,
    pagination: {
      backoff: PAUSE_MS,
      transform: ({ body }) => [body as Page],
      paginate({ response }) {
        const next = (response.body as Page).pagination.next_page;
        return next === null ? false : { searchParams: { ...searchParams, next_page: next } };
      },
    },
  });
}

/** Reads a list and writes its pages. @returns the ids that it holds */
async function copyList(prisma: PrismaClient, key: ListKey): Promise<string[]> {
  const ids: string[] = [];
  const path = key.inboxId === null ? '/inboxes' : `/inboxes/${key.inboxId}/${key.list}`;
  for await (const page of pagesOf(path)) {
    const { items } = readRows(key.list, page.results, { storePublicPermalink: false });
    await upsertPage(prisma, key, items);
    ids.push(...items.map(({ id }) => id));
  }
  await sleep(PAUSE_MS);
  return ids;
}

async function copyAll(prisma: PrismaClient): Promise<void> {
  for (const inboxId of await copyList(prisma, { list: 'inboxes', inboxId: null })) {
    await copyList(prisma, { list: 'users', inboxId });
    await copyList(prisma, { list: 'tags', inboxId });
    const ids = await copyList(prisma, { list: 'conversations', inboxId });
    if (process.env['MARK_GONE'] !== '1') continue;
    const [gone, back] = [{ notIn: ids }, { in: ids }];
    await prisma.conversations.updateMany({
      where: { inbox_id: inboxId, id: gone, deleted_at: null },
      data: { deleted_at: new Date() },
    });
    await prisma.conversations.updateMany({
      where: { inbox_id: inboxId, id: back, deleted_at: { not: null } },
      data: { deleted_at: null },
    });
  }
}

const prisma = await openUsual('copy.db');
const expression = process.argv[2];
if (expression === undefined) {
  await copyAll(prisma);
  await prisma.$disconnect();
} else {
  // Two runs at a time would read twice as fast as the service allows.
  schedule(expression, () => copyAll(prisma), { noOverlap: true });
  process.once('SIGTERM', () => process.exit(0));
}
