import { describe, expect, test } from 'vitest';
import type { EndpointsOptions } from '../../../src/daemon/http/server.ts';
import { type Cursor, cursorText } from '../../../src/mirror/history/cursor.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import { GONE_AFTER_MS } from '../../support/mirror.ts';
import { ON_SQLITE } from '../../support/provider.ts';
import { firstInbox, nthInbox, parseLines } from '../../support/rows.ts';
import { backUp, restore } from '../../support/restore.ts';
import { rule } from '../../support/rule.ts';
import { type Served, served } from './served.ts';

interface Line {
  readonly id: number;
  readonly list: string;
  readonly inbox_id: string | null;
  readonly item_id: string;
  readonly field: string;
}

async function withHistory(endpoints: Partial<EndpointsOptions> = {}): Promise<Served> {
  const all = await served({}, endpoints);
  await all.sync();
  all.mirror.sandbox.applyEvents(40);
  await all.sync();
  return all;
}

async function lines(all: Served, query: string): Promise<Line[]> {
  const { status, body } = await all.ask(`/changes${query}`);
  expect(status).toBe(200);
  return parseLines<Line>(body);
}

test('GET /changes returns each change exactly once, page by page, oldest first', async () => {
  const all = await withHistory();
  const whole = await lines(all, '');
  expect(whole.length).toBeGreaterThan(20);
  const pieces: Line[] = [];
  for (let id = '0'; ;) {
    const { body, headers } = await all.ask(`/changes?since_id=${id}&limit=7`);
    expect(headers['content-type']).toContain('application/x-ndjson');
    if (body === '') break;
    pieces.push(...parseLines<Line>(body));
    id = String(headers['x-last-id']);
  }
  expect(pieces).toEqual(whole);
  expect(await lines(all, '?list=conversations&field=status')).toEqual(
    whole.filter(({ list, field }) => list === 'conversations' && field === 'status'),
  );
});

test('GET /changes of an inbox has the changes of the inbox itself, in order and page by page', async () => {
  const all = await served({ sandbox: { conversations: [30, 10, 5, 5] } });
  await all.sync();
  const { world } = all.mirror.sandbox;
  const [first = '', other = ''] = world.inboxes.keys();
  for (const { id } of [firstInbox(all.mirror.sandbox), nthInbox(all.mirror.sandbox, 1)]) {
    world.inboxes.get(id)!.display_name += ' (renamed)';
    await all.sync();
    all.mirror.sandbox.applyEvents(20);
    await all.sync();
  }
  world.removeInbox(other);
  for (let sweeps = 0; sweeps < 2; sweeps += 1) {
    await all.sync({ lists: ['inboxes'] });
    all.clock.advance(GONE_AFTER_MS);
  }
  const whole = await lines(all, '');
  const own = (inbox: string, isOf: (line: Line) => boolean = () => true): Line[] =>
    whole.filter(
      (line) =>
        (line.inbox_id === inbox || (line.list === 'inboxes' && line.item_id === inbox)) && isOf(line),
    );
  const ofItself = own(other, ({ list }) => list === 'inboxes');
  expect(ofItself.map(({ field }) => field)).toEqual(['display_name', 'presence']);
  for (const inbox of [first, other]) expect(await lines(all, `?inbox_id=${inbox}`)).toEqual(own(inbox));
  const query = `?inbox_id=${other}`;
  expect(await lines(all, `${query}&list=inboxes`)).toEqual(ofItself);
  expect(await lines(all, `${query}&item_id=${other}`)).toEqual(ofItself);
  expect(await lines(all, `${query}&field=presence`)).toEqual(
    own(other, ({ field }) => field === 'presence'),
  );
  const [conversation] = own(other, ({ list }) => list === 'conversations');
  expect(conversation).toBeDefined();
  for (const narrower of [`item_id=${conversation?.item_id}`, 'list=conversations'])
    expect(await lines(all, `${query}&${narrower}`)).toContainEqual(conversation);
  expect(await lines(all, `${query}&list=conversations&item_id=${other}`)).toEqual([]);
  const pieces: Line[] = [];
  for (let read: Line[] = []; ; pieces.push(...read)) {
    read = await lines(all, `${query}&limit=3&since_id=${pieces.at(-1)?.id ?? 0}`);
    if (read.length === 0) break;
  }
  expect(pieces).toEqual(own(other));
});

const JSON_1 = ON_SQLITE ? '$1' : 'CAST($1 AS JSONB)';

describe('GET /changes with long texts', () => {
  test('ends an answer after 8 MB of values, and a reader gets each change once', async () => {
    const all = await withHistory();
    const ids = (await lines(all, '')).map(({ id }) => id);
    await all.mirror.database.execute(
      `UPDATE changes SET item_values = ${JSON_1} WHERE id <= $2`,
      JSON.stringify({ status: 'x'.repeat(3_000_000) }),
      ids[3],
    );
    const read: number[][] = [];
    for (let id = 0; read.at(-1)?.length !== 0; id = read.at(-1)?.at(-1) ?? 0)
      read.push((await lines(all, `?since_id=${id}&limit=100`)).map((line) => line.id));
    expect(read.flat()).toEqual(ids);
    expect(read[0]).toHaveLength(3);
  });

  rule('cuts a name beside an id to 200 characters, and leaves out a link of more than 2,000', async () => {
    const all = await withHistory();
    const { database } = all.mirror;
    await database.execute(`UPDATE inboxes SET display_name = $1`, '💌'.repeat(60_000));
    await database.execute(
      `UPDATE conversations SET permalink = $1`,
      `https://x.example/${'y'.repeat(2000)}`,
    );
    const [change] = await lines(all, '?list=conversations&limit=1');
    expect(change).toMatchObject({ inbox: `${'💌'.repeat(199)}…`, permalink: null });
  });

  rule('ends an answer after 8 MB of names', async () => {
    const all = await withHistory();
    const { database } = all.mirror;
    const { id: inboxId, tags } = firstInbox(all.mirror.sandbox);
    const [tag] = tags.keys();
    await database.execute(`UPDATE inbox_tags SET name = $1`, 'x'.repeat(60_000));
    await database.execute(
      `UPDATE changes SET item_values = ${JSON_1}
       WHERE list = 'conversations' AND inbox_id = $2`,
      JSON.stringify({ tags: Array.from({ length: 15_000 }, () => tag) }),
      inboxId,
    );
    const query = `?list=conversations&inbox_id=${inboxId}`;
    expect(await lines(all, `${query}&limit=5`)).toHaveLength(2);
  });
});

test('GET /changes waits for the next change and answers as soon as there is one', async () => {
  const all = await withHistory();
  const last = (await lines(all, '')).at(-1)?.id ?? 0;
  const before = all.clock.monotonic();
  expect(await lines(all, `?since_id=${last}&wait=20`)).toEqual([]);
  expect(all.clock.monotonic() - before).toBe(20_000);
  all.mirror.sandbox.applyEvents(5);
  const waiting = lines(all, `?since_id=${last}&wait=25`);
  await all.sync();
  // The answer may precede some changes of the pass; a second request returns the rest.
  const first = await waiting;
  const rest = await lines(all, `?since_id=${first.at(-1)?.id ?? last}`);
  expect([...first, ...rest].map(({ id }) => id)[0]).toBe(last + 1);
});

/** Queries, and the reason of the answer. */
const INVALID = {
  '?since_id=-1': 'since_id: expected the id or the cursor of a change, or 0',
  '?since_id=x': 'since_id: expected the id or the cursor of a change, or 0',
  '?since_id=4-x': 'since_id: expected the id or the cursor of a change, or 0',
  '?since_id=1&since_id=2': 'since_id: expected one value',
  '?limit=10001': 'limit: expected a whole number from 1 to 10000',
  '?limit=0': 'limit: expected a whole number from 1 to 10000',
  '?limit=2&limit=3': 'limit: expected one value',
  '?list=tags&list=users': 'list: expected one value',
  '?field=status&field=tags': 'field: expected one value',
  '?wait=26': 'wait: expected a whole number from 0 to 25',
  '?list=mails': 'list: there is no such list; the lists are: inboxes, users, tags, conversations',
  '?since=2026': 'Unrecognized key: "since"',
  '?inbox_id=': 'inbox_id: expected an id',
  '?field=statsu': 'field: there is no such field; the fields are: presence, ',
  '?inbox_id=999': 'inbox_id: the mirror has no inbox 999',
  '?item_id=999': 'item_id: the mirror has no conversation, tag, user or inbox 999',
};

rule('GET /changes answers 400 with a reason to an invalid query', async () => {
  const { ask } = await served();
  for (const [query, reason] of Object.entries(INVALID)) {
    const { status, json } = await ask(`/changes${query}`);
    const error = expect.stringContaining(`Invalid query: ${reason}`) as string;
    expect([query, status, json]).toEqual([query, 400, { error }]);
  }
});

test('GET /changes reports in x-last-id how far it searched, and searches no change twice', async () => {
  const asked: number[] = [];
  const changes = async ({ id }: Cursor): Promise<[]> => (asked.push(id), []);
  const newestChange = async () => ({ id: asked.length > 1 ? 9 : 7, epoch: 'a1b2c3d4e5f6' });
  const all = await served({}, { changes, newestChange });
  const { headers } = await all.ask('/changes?since_id=4&field=status&wait=20');
  expect(asked).toEqual([4, 4, 7]);
  expect([headers['x-last-id'], headers['x-cursor']]).toEqual(['9', '9-a1b2c3d4e5f6']);
});

rule('GET /changes answers 503 to a 51st waiting client, to keep room for health checks', async () => {
  const arrived = Promise.withResolvers<void>();
  let asked = 0;
  const changes = async (): Promise<[]> => ((asked += 1) === 60 && arrived.resolve(), []);
  const all = await served({}, { changes });
  void all.clock.hold(() => arrived.promise);
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_none, index) =>
      // No client reaches its own limit.
      all.ask('/changes?wait=25', { from: `127.0.0.${1 + (index % 3)}` }),
    ),
  );
  const refused = answers.filter(({ status }) => status === 503);
  expect([refused.length, refused[0]?.headers['retry-after']]).toEqual([10, '5']);
});

test('GET /changes gives cursors with an epoch, and answers 410 to one whose change a backup has undone', async () => {
  const all = await withHistory();
  const { database } = all.mirror;
  const backup = await backUp(database);
  const known = (await all.ask('/changes')).headers['x-cursor'];
  all.mirror.sandbox.applyEvents(20);
  await all.sync();
  const later = await all.ask('/changes');
  const lost = String(later.headers['x-cursor']);
  expect(lost).toBe(parseLines<{ cursor: string }>(later.body).at(-1)?.cursor);
  expect(lost).toMatch(/^\d+-[0-9a-f]{12}$/);
  expect((await all.ask(`/changes?since_id=${lost}`)).headers['x-cursor']).toBe(lost);
  await restore(database, backup);
  all.mirror.sandbox.applyEvents(60);
  await all.sync();

  const { status, json } = await all.ask(`/changes?since_id=${lost}&wait=20`);
  expect([status, json]).toEqual([
    410,
    { error: expect.stringContaining(`is another one than that of the cursor ${lost}`) },
  ]);
  expect(json['error']).toContain(`read the changes after ${String(known)} again`);
  expect((await lines(all, `?since_id=${String(known)}`)).length).toBeGreaterThan(20);
});

test('GET /changes answers 410 to a cursor beyond the newest change', async () => {
  const all = await withHistory();
  const last = (await lines(all, '')).at(-1)?.id ?? 0;
  for (const query of [`since_id=${last + 1}`, 'since_id=1000000&field=status&wait=20']) {
    const { status, json } = await all.ask(`/changes?${query}`);
    expect([status, json]).toEqual([410, { error: expect.stringContaining(`the newest is ${last}`) }]);
  }
  expect(await lines(all, `?since_id=${last}`)).toEqual([]);
});

describe('GET /changes that waits answers 410', () => {
  /** The answer to a request that waits after the newest change while `meanwhile` happens. */
  async function waiting(cursor: (newest: Cursor) => string, meanwhile: string) {
    let isWaiting = false;
    const all: Served = await withHistory({
      async newestChange() {
        if (isWaiting) await all.mirror.database.execute(meanwhile);
        isWaiting = false;
        return await mirrorOn(all.mirror.database).history.newestCursor();
      },
    });
    const newest = await mirrorOn(all.mirror.database).history.newestCursor();
    isWaiting = true;
    const { status, json } = await all.ask(`/changes?since_id=${cursor(newest)}&wait=20`);
    expect(isWaiting).toBe(false);
    return [status, json['error']];
  }

  test('once the mirror no longer has the change of its cursor', async () => {
    const deleted = 'DELETE FROM changes WHERE id > 3';
    const answer = [410, expect.stringContaining('the newest is 3')];
    expect(await waiting(({ id }) => String(id), deleted)).toEqual(answer);
    expect(await waiting(cursorText, deleted)).toEqual(answer);
  });

  rule('once another change has the id of its cursor', async () => {
    const renamed = `UPDATE epochs SET epoch = 'another'`;
    expect(await waiting(cursorText, renamed)).toEqual([410, expect.stringContaining('is another one than')]);
  });
});

rule('GET /changes names the valid fields and inboxes in its 400, and has the names of the ids', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  const { json: wrongField } = await ask('/changes?field=statsu');
  expect(wrongField['error']).toMatch(/field: there is no such field; .*: presence, .*, status, /);
  const { json: wrongInbox } = await ask('/changes?inbox_id=999');
  expect(wrongInbox['error']).toContain(`no inbox 999; it has ${inbox?.id} (${inbox?.display_name})`);
  mirror.sandbox.applyEvents(20);
  await sync();
  const { body } = await ask(`/changes?inbox_id=${inbox?.id}&limit=1`);
  expect(JSON.parse(body)).toMatchObject({ inbox: inbox?.display_name });
});
