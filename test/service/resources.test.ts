import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExact } from '../../src/core/json.ts';
import { COLUMNS, type Item, LIST_NAMES, type ListName } from '../../src/core/lists.ts';
import { type ReadRows, readRows } from '../../src/service/resources.ts';

const read = (list: ListName, rows: string, storePublicPermalink = false): ReadRows =>
  readRows(list, parseExact(rows) as unknown[], { storePublicPermalink });

function one(list: ListName, row: string, storePublicPermalink = false): Item {
  const { items, rejects } = read(list, `[${row}]`, storePublicPermalink);
  expect(rejects).toEqual([]);
  return items[0] as Item;
}
const conversation = (fields: string): Item =>
  one('conversations', `{"id":"1","status":"open","tag_ids":[]${fields}}`);

test('readRows keeps every digit of an id of up to 64, from a number or a text', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 64n - 1n }), (id) => {
      const asNumber = one(
        'conversations',
        `{"id":${id},"assignee":{"assignee_id":${id}},"tag_ids":[${id}]}`,
      );
      const asText = one(
        'conversations',
        `{"id":"${id}","assignee":{"assignee_id":"${id}"},"tag_ids":["${id}"]}`,
      );
      expect(asNumber).toMatchObject({
        id: String(id),
        columns: { assignee_id: String(id) },
        tags: [String(id)],
      });
      expect(asText).toMatchObject({
        id: String(id),
        columns: { assignee_id: String(id) },
        tags: [String(id)],
      });
      expect(asNumber.hash).toBe(asText.hash);
      expect(asNumber.raw).toContain(`"id":${id}`);
    }),
  );
});

test.each([
  '-1',
  '1.5',
  '1e3',
  '1.0',
  '""',
  '"abc"',
  '" 1"',
  '"1\\n"',
  '{}',
  '[1]',
  'true',
  'null',
  '1'.repeat(65),
  '"٣"',
])('readRows rejects a row with the id %s and names the reason', (id) => {
  const { items, rejects } = read('users', `[{"id":${id},"email":"a@example.com"},{"id":"2"}]`);

  expect(rejects).toMatchObject([{ id: null, reason: 'id is not an id of digits' }]);
  expect(items.map((item) => item.id)).toEqual(['2']);
});

test('readRows gives a row of each list exactly the columns of that list', () => {
  for (const list of LIST_NAMES)
    expect(Object.keys(one(list, '{"id":1}').columns)).toEqual(Object.keys(COLUMNS[list]));
});

test('readRows reads an inbox with its source user and its instants', () => {
  const row = `{"id":"9223372036854775807","display_name":"Support","channel_type":"email","email":"s@example.com","inbox_type":"user",
    "is_authorised":false,"source_user":{"id":9007199254740993,"email":"o@example.com"},"created_at":1709036168,"updated_at":1709036168250}`;
  expect(one('inboxes', row).columns).toEqual({
    display_name: 'Support',
    channel_type: 'email',
    email: 's@example.com',
    inbox_type: 'user',
    is_authorised: false,
    source_user_id: '9007199254740993',
    source_user_email: 'o@example.com',
    created_at: '2024-02-27T12:16:08.000Z',
    updated_at: '2024-02-27T12:16:08.250Z',
  });
});

test.each(['108204268033311374519', '9'.repeat(64)])(
  'readRows reads the id %s wherever a row has one',
  (id) => {
    expect(one('inboxes', `{"id":"${id}","source_user":{"id":${id}}}`)).toMatchObject({
      id,
      columns: { source_user_id: id },
    });
    expect(
      one('conversations', `{"id":"${id}","assignee":{"assignee_id":"${id}"},"tag_ids":[${id}]}`),
    ).toMatchObject({ id, columns: { assignee_id: id }, tags: [id] });
    for (const list of ['users', 'tags'] as const) expect(one(list, `{"id":${id}}`).id).toBe(id);
  },
);

test.each([
  '1709036168',
  '1709036168000',
  '"1709036168"',
  '"1709036168000"',
  '1709036168.0',
  '1709036168.000',
  '1.709036168e9',
  '1709036168000000',
  '"1709036168000123"',
  '"2024-02-27T12:16:08Z"',
  '"2024-02-27T12:16:08.000123Z"',
  '"2024-02-27 12:16:08"',
  '"2024-02-27T13:16:08+01:00"',
  '"2024-02-27T05:16:08-0700"',
])('readRows reads the timestamp %s as the instant that it means', (created) => {
  expect(one('tags', `{"id":1,"created_at":${created}}`).columns['created_at']).toBe(
    '2024-02-27T12:16:08.000Z',
  );
});

test.each([
  '"yesterday"',
  '""',
  'true',
  '{}',
  '1709036168000000000',
  '1e400',
  '"0x10"',
  '"2024-02-30T00:00:00Z"',
  '"2024-13-01"',
  '"2024-02-27T25:00:00Z"',
  '"0000-01-01T00:00:00Z"',
  '"9999-12-31T23:59:59-01:00"',
])('readRows rejects the timestamp %s', (created) => {
  expect(read('tags', `[{"id":1,"created_at":${created}}]`).rejects).toMatchObject([
    { reason: 'created_at is not a timestamp' },
  ]);
});

test('all forms of an unassigned conversation give the same columns and the same hash', () => {
  const ways = [
    '',
    ',"assignee":null',
    ',"assignee":{}',
    ',"assignee":{"assignee_id":null}',
    ',"assignee":{"assignee_type":"user","assignee_id":null}',
    ',"assignee":[]',
    ',"assignee":""',
    ',"assignee":0',
  ];
  const read1 = ways.map(conversation);

  for (const { columns } of read1) expect(columns).toMatchObject({ assignee_id: null, assignee_type: null });
  expect(new Set(read1.map(({ hash }) => hash)).size).toBe(1);
});

test('order and repetition of tags change neither the stored tags nor the hash', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 99 }), { maxLength: 6 }),
      fc.infiniteStream(fc.boolean()),
      (tags, coins) => {
        const mixed = tags
          .toSorted(() => (coins.next().value === true ? 1 : -1))
          .flatMap((tag) => [tag, String(tag)]);
        const plain = one('conversations', `{"id":1,"tag_ids":${JSON.stringify(tags)}}`);
        const other = one('conversations', `{"id":1,"tag_ids":${JSON.stringify(mixed)}}`);
        expect(other.tags).toEqual(plain.tags);
        expect(other.hash).toBe(plain.hash);
      },
    ),
  );
});

test('an empty tag list differs from a missing one', () => {
  expect(one('conversations', '{"id":1,"tag_ids":[]}').tags).toEqual([]);
  expect(one('conversations', '{"id":1}').tags).toBeNull();
});

test('tags that are null are none, and not those that the mirror knows', () => {
  const none = one('conversations', '{"id":1,"tag_ids":[]}');
  expect(one('conversations', '{"id":1,"tag_ids":null}')).toMatchObject({ tags: [], hash: none.hash });
});

test.each(['""', '0', '"0"', 'null'])('an assignee whose id is %s is nobody', (id) => {
  const row = one(
    'conversations',
    `{"id":1,"status":"open","assignee":{"assignee_type":"user","assignee_id":${id}}}`,
  );
  expect(row.columns).toMatchObject({ assignee_id: null, assignee_type: null });
});

test('the order of fields does not change the hash, and any change of content does', () => {
  const base = one('conversations', '{"id":1,"status":"open","tag_ids":[],"colour":{"a":1,"b":2}}');
  expect(one('conversations', '{"colour":{"b":2,"a":1},"tag_ids":[],"status":"open","id":1}').hash).toBe(
    base.hash,
  );
  for (const other of [
    '{"id":1,"status":"closed","tag_ids":[],"colour":{"a":1,"b":2}}',
    '{"id":1,"status":"open","tag_ids":[5],"colour":{"a":1,"b":2}}',
    '{"id":1,"status":"open","colour":{"a":1,"b":2}}',
    '{"id":1,"status":"open","tag_ids":[],"colour":{"a":1,"b":3}}',
    '{"id":1,"status":"open","tag_ids":[],"colour":{"a":1,"b":2},"more":null}',
    '{"id":1,"status":"open","tag_ids":[],"colour":{"a":1,"b":2},"assignee":{"assignee_id":7}}',
    '{"id":1,"status":"open","tag_ids":[],"colour":{"a":1,"b":2},"assignee":{"mood":"good"}}',
    '{"id":1,"status":"open","tag_ids":[],"colour":{"a":1,"b":2},"private_permalink":"x"}',
  ])
    expect(one('conversations', other).hash).not.toBe(base.hash);
});

test('`raw` keeps unknown fields as they came, with every digit, also inside known fields', () => {
  const row =
    '{"id":"1","extra":{"big":9223372036854775807,"rate":1.50},"assignee":{"assignee_id":5,"seat":18446744073709551615}}';
  expect(one('conversations', row).raw).toBe(row);
});

test('`raw` keeps the public permalink only if the option asks for it', () => {
  const row = '{"id":"1","public_permalink":"https://x/open-to-all","private_permalink":"https://x/p"}';
  const kept = one('conversations', row);
  expect(kept.raw).not.toContain('open-to-all');
  expect(kept.columns['permalink']).toBe('https://x/p');
  expect(one('conversations', row, true).raw).toContain('open-to-all');
  expect(
    one('conversations', '{"id":"1","public_permalink":"https://x/other","private_permalink":"https://x/p"}')
      .hash,
  ).toBe(kept.hash);
  expect(
    read('conversations', '[{"id":"x","public_permalink":"https://x/open-to-all"}]').rejects[0]?.raw,
  ).not.toContain('open-to-all');
});

test('a conversation read singly equals the same one in a list', () => {
  expect(one('conversations', '{"id":1,"status":"open","message_ids":[{"hiver_message_id":5}]}')).toEqual(
    one('conversations', '{"id":1,"status":"open"}'),
  );
});

test.each<[ListName, string, string]>([
  ['users', '{"email":"a@example.com"}', 'id is missing'],
  ['users', 'null', 'the row is not an object'],
  ['users', '"text"', 'the row is not an object'],
  ['users', '[]', 'the row is not an object'],
  ['users', '5', 'the row is not an object'],
  ['users', '9007199254740993', 'the row is not an object'],
  ['users', '{"id":1,"email":5,"is_joined":"yes"}', 'email is not text; is_joined is not a boolean'],
  ['conversations', '{"id":1,"status":{"name":"open"}}', 'status is not text'],
  ['conversations', `{"id":1,"status":"${'o'.repeat(251)}"}`, 'status is too long'],
  ['tags', `{"id":1,"name":"${'o'.repeat(65_537)}"}`, 'name is too long'],
  ['conversations', '{"id":1,"tag_ids":"5"}', 'tag_ids is not an array'],
  ['conversations', '{"id":1,"tag_ids":[5,null]}', 'tag_ids.1 is not an id of digits'],
  [
    'conversations',
    '{"id":1,"assignee":{"assignee_id":"jane"}}',
    'assignee.assignee_id is not an id of digits',
  ],
  ['inboxes', '{"id":1,"is_authorised":1}', 'is_authorised is not a boolean'],
])('readRows rejects the %s row %s with its reason and reads the rows beside it', (list, row, reason) => {
  const { items, rejects } = read(list, `[{"id":"1001"},${row},{"id":"1002"}]`);

  expect(items.map(({ id }) => id)).toEqual(['1001', '1002']);
  const id = row.startsWith('{"id":1,') ? '1' : null;
  expect(rejects).toEqual([{ id, reason, raw: row }]);
});

test.each(['5', '"jane"', '[1]', '9007199254740993'])(
  'readRows rejects the assignee %s instead of reading it as unassigned',
  (assignee) => {
    expect(read('conversations', `[{"id":1,"assignee":${assignee}}]`).rejects).toHaveLength(1);
  },
);

test('readRows counts the rows that lack a field of the specification', () => {
  expect(read('users', '[{"id":1,"email":"a"},{"id":2,"email":null},{"id":3}]').lacking).toEqual({
    first_name: 3,
    last_name: 3,
    email: 1,
    phone_number: 3,
    is_joined: 3,
  });
});

test('readRows keeps an unknown status', () => {
  expect(conversation('').columns['status']).toBe('open');
  expect(one('conversations', '{"id":1,"status":"Zzz"}').columns['status']).toBe('Zzz');
});

test('readRows never throws, whatever the JSON', () => {
  fc.assert(
    fc.property(fc.constantFrom(...LIST_NAMES), fc.array(fc.jsonValue()), (list, rows) => {
      const { items, rejects } = readRows(list, rows, { storePublicPermalink: false });
      expect(items.length + rejects.length).toBe(rows.length);
    }),
  );
});

test.each([
  ['tags', 'name', 'is not text'],
  ['conversations', 'tag_ids', 'is not an array'],
] as const)(
  'a row of %s whose %s is an object with a length is a reject, and costs that row alone',
  (list, field, fault) => {
    const { items, rejects } = read(list, `[{"id":1},{"id":2,"${field}":{"length":1.50}}]`);
    expect(items).toHaveLength(1);
    expect(rejects).toMatchObject([{ id: '2', reason: `${field} ${fault}` }]);
  },
);

test('a row with very many faults names a few, and a list of tags without measure is not looked into', () => {
  const reasonOf = (tags: unknown[]): string | undefined =>
    readRows('conversations', [{ id: '1', tag_ids: tags }], { storePublicPermalink: false }).rejects[0]
      ?.reason;
  expect(reasonOf(Array.from({ length: 1001 }, () => ''))).toBe('tag_ids has too many entries');
  expect(reasonOf(Array.from({ length: 900 }, () => ''))).toMatch(
    /^(tag_ids\.\d .+; ){5}and 895 more faults$/,
  );
  expect(reasonOf(Array.from({ length: 1000 }, (_, nth) => nth + 1))).toBeUndefined();
});
