import { type Item, LIST_NAMES, type ListKey } from '../src/core/lists.ts';
import { readBody, readList } from '../src/service/envelope.ts';
import { createHttp, type Http } from '../src/service/http.ts';
import { readRows } from '../src/service/resources.ts';
import { KEY, PAGE_SIZE, type PhaseSpec } from './processes.ts';
import type { OpenWay } from './way.ts';

type SavePage = (key: ListKey, items: readonly Item[]) => Promise<void>;

/** The way `fetch`: fetches and parses the pages, and stores nothing. */
export async function fetchWay({ url }: PhaseSpec): Promise<OpenWay> {
  const http = createHttp(url, () => KEY);
  return {
    query: null,
    async walk(onPage) {
      await walkAll(http, () => Promise.resolve(), onPage);
      return { written: null };
    },
    close: () => Promise.resolve(http.close()),
  };
}

/** Reads the inboxes, then all their lists, page after page, with the mirror's HTTP client and parser. */
export async function walkAll(http: Http, save: SavePage, onPage: (rows: number) => void): Promise<void> {
  const inboxIds: string[] = [];
  await walkList(
    http,
    { list: 'inboxes', inboxId: null },
    async (key, items) => {
      inboxIds.push(...items.map(({ id }) => id));
      await save(key, items);
    },
    onPage,
  );
  for (const list of LIST_NAMES.filter((name) => name !== 'inboxes')) {
    for (const inboxId of inboxIds) await walkList(http, { list, inboxId }, save, onPage);
  }
}

async function walkList(
  http: Http,
  key: ListKey,
  save: SavePage,
  onPage: (rows: number) => void,
): Promise<void> {
  const path = key.inboxId === null ? '/inboxes' : `/inboxes/${key.inboxId}/${key.list}`;
  let token: string | null = null;
  do {
    const answer = await http.get(path, {
      limit: String(PAGE_SIZE),
      ...(token === null ? {} : { next_page: token }),
    });
    if (answer.status !== 200) throw new Error(`GET ${path}: HTTP ${answer.status}`);
    const { rows, next } = readList(readBody(answer.body), { limit: PAGE_SIZE, isFirst: token === null });
    const { items } = readRows(key.list, rows, { storePublicPermalink: false });
    await save(key, items);
    onPage(items.length);
    token = next ?? null;
  } while (token !== null);
}
