import { expect, test } from 'vitest';
import { keysByInbox, keysOf, listId, LIST_NAMES } from '../../src/core/lists.ts';

const INBOXES = [{ id: '1' }, { id: '2' }];

test('a pass goes kind by kind, with inboxes first and each kind only if it is wanted', () => {
  expect(keysOf(['tags', 'users', 'inboxes'], INBOXES).map(listId)).toEqual([
    'inboxes',
    'users/1',
    'users/2',
    'tags/1',
    'tags/2',
  ]);
  expect(keysOf(LIST_NAMES, []).map(listId)).toEqual(['inboxes']);
});

test('plans and status go inbox by inbox', () => {
  expect(keysByInbox(INBOXES).map(listId)).toEqual([
    'inboxes',
    'users/1',
    'tags/1',
    'conversations/1',
    'users/2',
    'tags/2',
    'conversations/2',
  ]);
});
