import { expect, test } from 'vitest';
import { failuresOf } from '../../../src/cli/pass/outcome.ts';
import { MirrorError } from '../../../src/core/errors.ts';
import type { ListName } from '../../../src/core/lists.ts';

function failed(list: ListName, inboxId: string, reason: string) {
  return { key: { list, inboxId }, outcome: 'failed', error: new Error(reason) } as const;
}

test('lists of a kind that failed for one reason share a line, and all others have their own', () => {
  const paused = new MirrorError('ANSWER_FAILED', 'nothing was sent');
  const lists = [
    failed('users', '7', 'HTTP 404'),
    { key: { list: 'users', inboxId: '8' }, outcome: 'paused', error: paused },
    { key: { list: 'users', inboxId: '9' }, outcome: 'paused', error: paused },
    { key: { list: 'users', inboxId: '10' }, outcome: 'paused', error: paused },
    failed('tags', '7', 'HTTP 404'),
    { key: { list: 'tags', inboxId: '8' }, outcome: 'complete', error: null },
    { key: { list: 'tags', inboxId: '9' }, outcome: 'paused', error: new MirrorError('STOPPED', 'Stopped.') },
  ] as const;
  expect(failuresOf(lists, (id) => (id === '8' ? 'Support' : null))).toEqual([
    'users of inbox 7: HTTP 404',
    'users of Support (8) and 2 more inboxes: nothing was sent',
    'tags of inbox 7: HTTP 404',
  ]);
});
