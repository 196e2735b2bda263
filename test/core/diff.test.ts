import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { changesIn, type Known, diff, presence } from '../../src/core/diff.ts';
import { COLUMNS, type Item, type Value } from '../../src/core/lists.ts';

const BLANK = Object.fromEntries(Object.keys(COLUMNS.conversations).map((column) => [column, null]));
const item = (columns: Record<string, Value>, tags: string[] | null = null): Item => ({
  id: '1',
  columns: { ...BLANK, ...columns },
  tags,
  raw: '{}',
  hash: '',
});
const known = (columns: Record<string, Value>, tags: string[] | null = null, deleted = false): Known => ({
  columns: { ...BLANK, ...columns },
  tags,
  deleted,
});

test('a new item gives one presence change, with all that it contains', () => {
  expect(diff('conversations', undefined, item({ status: 'open' }, ['1']))).toEqual([
    { field: 'presence', from: 'missing', to: 'present', values: { ...BLANK, status: 'open', tags: ['1'] } },
  ]);
});

test('a returning item without a list of tags has its stored tags', () => {
  expect(diff('conversations', known({}, ['2', '1'], true), item({}, null))).toMatchObject([
    { field: 'presence', values: { tags: ['1', '2'] } },
  ]);
});

test('a deleted item gives one presence change from present to missing', () => {
  expect(presence('missing')).toEqual({ field: 'presence', from: 'present', to: 'missing' });
});

test('an unchanged item gives no change', () => {
  expect(
    diff('conversations', known({ status: 'open' }, ['1', '2']), item({ status: 'open' }, ['1', '2'])),
  ).toEqual([]);
});

test('a changed column gives a change with its old and new value, null included', () => {
  expect(
    diff('conversations', known({ status: 'open', assignee_id: '7' }), item({ status: 'closed' })),
  ).toEqual([
    { field: 'status', from: 'open', to: 'closed' },
    { field: 'assignee_id', from: '7', to: null },
  ]);
});

test('a boolean value becomes the text true or false in a change', () => {
  const users = { first_name: null, last_name: null, email: null, phone_number: null };
  const before: Known = { columns: { ...users, is_joined: false }, tags: null, deleted: false };
  const now: Item = { id: '1', columns: { ...users, is_joined: true }, tags: null, raw: '{}', hash: '' };

  expect(diff('users', before, now)).toEqual([{ field: 'is_joined', from: 'false', to: 'true' }]);
});

test('an item without a list of tags loses no tags', () => {
  expect(diff('conversations', known({}, ['1']), item({}, null))).toEqual([]);
});

test('a returning item gives a presence change and one for each column and tag that differs', () => {
  expect(
    diff('conversations', known({ status: 'open' }, ['1'], true), item({ status: 'closed' }, ['2'])),
  ).toEqual([
    {
      field: 'presence',
      from: 'missing',
      to: 'present',
      values: { ...BLANK, status: 'closed', tags: ['2'] },
    },
    { field: 'status', from: 'open', to: 'closed' },
    { field: 'tags', from: '1', to: null },
    { field: 'tags', from: null, to: '2' },
  ]);
});

test('applying the changes to the old item gives the new item', () => {
  const value = fc.option(fc.string());
  const columns = fc.record(
    Object.fromEntries(Object.keys(COLUMNS.conversations).map((column) => [column, value])),
  );
  const tags = fc.uniqueArray(fc.integer({ min: 1, max: 4 }).map(String)).map((ids) => ids.sort());
  fc.assert(
    fc.property(columns, tags, columns, tags, (before, tagsBefore, now, tagsNow) => {
      const applied: Record<string, Value> = { ...before };
      const left = new Set(tagsBefore);
      for (const { field, from, to } of diff(
        'conversations',
        known(before, tagsBefore),
        item(now, tagsNow),
      )) {
        if (field !== 'tags') {
          expect(applied[field] ?? null).toBe(from);
          applied[field] = to;
        } else if (to !== null) left.add(to);
        else left.delete(from ?? '');
      }
      expect(applied).toEqual(now);
      expect([...left].sort()).toEqual(tagsNow);
    }),
  );
});

test('an assignee or a thread is one change though it has two columns, and each tag is one', () => {
  const before = known({ status: 'open' }, ['1']);
  const after = item({ status: 'closed', assignee_id: '7', assignee_type: 'user' }, ['2']);
  expect(changesIn(diff('conversations', before, after))).toBe(4);
  expect(
    changesIn(diff('conversations', before, item({ status: 'open', assignee_type: 'team' }, ['1']))),
  ).toBe(1);
  const thread = { thread_id: '7', thread_started_at: '2026-03-02T08:00:00.000Z' };
  expect(changesIn(diff('conversations', before, item({ status: 'open', ...thread }, ['1'])))).toBe(1);
  expect(changesIn(diff('conversations', before, item({ status: 'open' }, ['1'])))).toBe(0);
});
