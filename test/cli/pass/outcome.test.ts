import { expect, test } from 'vitest';
import { failuresOf } from '../../../src/cli/pass/outcome.ts';
import { MirrorError } from '../../../src/core/errors.ts';
import type { ListName } from '../../../src/core/lists.ts';
import { testProgram } from '../../support/program.ts';

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

test('sync says what rows that were not listed mean, what to do, and when', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 5 }, { GONE_AFTER: '20m' });
  await program.run('sync');
  const { world } = program.sandbox;
  const [inbox] = [...world.inboxes.values()];
  const [tag] = [...inbox!.tags.keys()];
  world.removeTag(inbox!.id, tag!);
  expect((await program.run('sync')).stderr).toMatch(
    /1 row of tags of .* was not listed, and counts until a second witness, at least 20 min later, lacks it too: if no daemon runs, run `npx inbox-mirror sync` again then \(docs\/commands\.md, "Words in the output"\)/,
  );
});
