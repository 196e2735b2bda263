import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { COLUMNS, LIST_NAMES, TABLES } from '../../src/core/lists.ts';
import { canonicalJson, parseExact } from '../../src/core/json.ts';
import type { Http } from '../../src/service/http.ts';
import type { TestMirror } from '../support/mirror.ts';
import { histories } from '../support/histories.ts';
import { firstIds, firstInbox, tampered } from '../support/rows.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';

const HOUR = 3_600_000;
const HISTORIES = histories(5);
const KEPT = ['content_hash', 'first_seen_at', 'changed_at', 'missing_since', 'deleted_at'];
const CHANGES = ['list', 'inbox_id', 'item_id', 'field', 'old_value', 'new_value', 'observed_at', 'previously_seen_at'];

/** One mirror on each database, each of a sandbox of its own that lives the same life. */
async function twins(options: Parameters<typeof quickMirror>[0]): Promise<[TestMirror, TestMirror]> {
  const mirror = async (provider: 'sqlite' | 'postgresql'): Promise<TestMirror> =>
    await quickMirror({ path: await freshMirrorFile(provider), ...options });
  return [await mirror('sqlite'), await mirror('postgresql')];
}

/** A table's rows in an order that both databases agree on; an instant as the hour of the sync in which it lies: lists are swept side by side. */
async function rowsOf({ database }: TestMirror, table: string, columns: readonly string[], raw: string): Promise<string[]> {
  const rows = await database.query<Record<string, unknown>>(`SELECT ${columns.join(', ')} ${raw} FROM ${table}`);
  const plain = ([name, value]: [string, unknown]): [string, unknown] => {
    if (name === 'raw') return [name, canonicalJson(parseExact(value as string))];
    const ofSync = value instanceof Date && (KEPT.includes(name) || table === 'changes');
    return [name, ofSync ? Math.floor(value.getTime() / HOUR) : value];
  };
  return rows.map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).map(plain)))).sort();
}

async function contentOf(mirror: TestMirror): Promise<Record<string, string[]>> {
  const content: Record<string, string[]> = {
    changes: await rowsOf(mirror, 'changes', CHANGES, ''),
    conversation_tags: await rowsOf(mirror, 'conversation_tags', ['inbox_id', 'conversation_id', 'tag_id'], ''),
    rejects: await rowsOf(mirror, 'rejects', ['list', 'inbox_id', 'reason'], ', CAST(raw AS TEXT) AS raw'),
  };
  for (const list of LIST_NAMES) {
    const key = list === 'inboxes' ? ['id'] : ['inbox_id', 'id'];
    const columns = [...key, ...Object.keys(COLUMNS[list]), ...KEPT];
    content[list] = await rowsOf(mirror, TABLES[list], columns, ', CAST(raw AS TEXT) AS raw');
  }
  return content;
}

test(
  'the same history gives the same tables and the same `changes` on SQLite and PostgreSQL',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.constantFrom('string' as const, 'number' as const, 'mixed' as const),
        fc.array(fc.record({ events: fc.nat(40), remove: fc.nat(25), restore: fc.boolean() }), { minLength: 1, maxLength: 4 }),
        async (seed, idType, history) => {
          const mirrors = await twins({
            pageSize: 10,
            sandbox: { seed, idType, conversations: [40, 15], usersPerInbox: 4, tagsPerInbox: 5, sharedShare: 0.3 },
          });
          for (const { events, remove, restore } of [{ events: 0, remove: 0, restore: false }, ...history]) {
            for (const { sandbox, clock, sync } of mirrors) {
              const inbox = firstInbox(sandbox);
              const gone = firstIds(inbox.conversations, remove);
              for (const id of gone) sandbox.world.removeConversation(inbox.id, id);
              sandbox.applyEvents(events);
              if (restore && gone[0] !== undefined) sandbox.world.restoreConversation(inbox.id, gone[0]);
              clock.advance(HOUR - (clock.now() % HOUR));
              const { stopped } = await sync();
              expect(stopped).toBeNull();
            }
            expect(await contentOf(mirrors[1])).toEqual(await contentOf(mirrors[0]));
          }
        },
      ),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);

test('texts and numbers that PostgreSQL cannot hold, and those that it just can, are the same on both, and harm no other row', async () => {
  const numbers = '[1e99999,123456789012345678901234567890.000000000012345678901,9007199254740993]';
  const withNumbers = (http: Http): Http => {
    const inner = tampered((page, path) => {
      if (path.endsWith('/conversations')) for (const row of page.results) row['numbers'] = 'NUMBERS';
    })(http);
    return {
      close: inner.close,
      async get(path, query) {
        const answer = await inner.get(path, query);
        return { ...answer, body: answer.body.replaceAll('"NUMBERS"', numbers) };
      },
    };
  };
  const mirrors = await twins({ sandbox: { conversations: [5], idType: 'string' }, wrapHttp: withNumbers });
  for (const mirror of mirrors) {
    const inbox = firstInbox(mirror.sandbox);
    const [first, second, third] = firstIds(inbox.conversations, 3);
    mirror.sandbox.world.setStatus(inbox.id, first!, 'a\0b');
    mirror.sandbox.world.setStatus(inbox.id, second!, 'half \ud83d of a pair, a whole \ud83d\ude00, \\u0000');
    (inbox.conversations.get(third!) as { status: unknown }).status = ['\0'];
    expect((await mirror.sync()).stopped).toBeNull();
    const rows = await mirror.database.query<{ status: string }>('SELECT status FROM conversations ORDER BY id');
    expect(rows.map(({ status }) => status)).toEqual(
      expect.arrayContaining(['a\uFFFDb', 'half \uFFFD of a pair, a whole \u{1F600}, \\u0000']),
    );
    expect(rows.length).toBe(4);
    const raw = await mirror.database.query<{ text: string }>('SELECT CAST(raw AS TEXT) AS text FROM conversations');
    for (const { text } of raw) expect(text.replaceAll(' ', '')).toContain(numbers.replace('1e99999', '"1e99999"'));
  }
  expect(await contentOf(mirrors[1])).toEqual(await contentOf(mirrors[0]));
});
