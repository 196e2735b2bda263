import { expect, test } from 'vitest';
import type { KnownInbox } from '../../src/mirror/gate/account.ts';
import { isOther, type ListedInbox, otherAccount } from '../../src/sync/account/marks.ts';

const NOW = Date.parse('2026-03-02T08:00:00Z');

/**
 * An inbox of the mirror: `1`; `1?` is a suspect since today, `1??` one for longer, `1x` has a tombstone, a consent has
 * replaced `1^`, `1 a@b.c` has another address, `1 -` none.
 */
function known(text: string): KnownInbox {
  const [, id = '', mark = '', email = `${id}@x.y`] = /^(\d+)(\??\??|x|\^)(?: (\S+))?$/.exec(text) ?? [];
  const missingSince = mark.startsWith('?') ? new Date(mark === '?' ? '2026-03-02' : '2026-03-01') : null;
  return {
    id,
    email: email === '-' ? null : email,
    missingSince,
    deleted: mark === 'x',
    replaced: mark === '^',
  };
}

/** An inbox in an answer. `1 !` cannot be read but for its id. */
function listed(text: string): ListedInbox {
  const { id, email } = known(text);
  return { id, email: email === '!' ? undefined : email };
}

const [WHOLE, PART] = [true, false];

test.each<[boolean, string, string[], string[], boolean, boolean?]>([
  [false, 'the same inboxes', ['1', '2'], ['1', '2'], WHOLE],
  [false, 'the same inboxes and many new ones', ['1', '2'], ['1', '2', '7', '8', '9'], WHOLE],
  [false, 'an address in other letters', ['1 A@x.y'], ['1 a@X.Y'], WHOLE],
  [false, 'an inbox without an address in the mirror', ['1 -'], ['1'], WHOLE],
  [false, 'an inbox without an address in the answer', ['1'], ['1 -'], WHOLE],
  [false, 'an inbox of which only the id can be read', ['1'], ['1 !'], WHOLE],
  [true, 'the only inbox under another address', ['1'], ['1 other@x.y'], WHOLE],
  [true, 'another inbox in place of the only one', ['1'], ['7'], WHOLE],
  [false, 'no inbox', ['1', '2'], [], WHOLE],
  [false, 'most inboxes gone, and none came', ['1', '2', '3'], ['1'], WHOLE],
  [true, 'most inboxes gone, and one came', ['1', '2', '3'], ['1', '7'], WHOLE],
  [false, 'one of two gone, and one came', ['1', '2'], ['1', '7'], WHOLE],
  [false, 'half of four gone, and one came', ['1', '2', '3', '4'], ['1', '2', '7'], WHOLE],
  [true, 'half of four gone, and as many came', ['1', '2', '3', '4'], ['1', '2', '7', '8'], WHOLE],
  [true, 'half of four under other addresses', ['1', '2', '3', '4'], ['1', '2', '3 a@b.c', '4 a@b.c'], WHOLE],
  [false, 'most absent, suspects as before, and as many came', ['1?', '2?', '3'], ['3', '7', '8'], WHOLE],
  [true, 'the same behind a new access', ['1?', '2?', '3'], ['3', '7', '8'], WHOLE, false],
  [true, 'the same, and one came', ['1?', '2?', '3'], ['3', '7'], WHOLE, false],
  [false, 'the same, whose suspects have long been some', ['1??', '2??', '3'], ['3', '7', '8'], WHOLE, false],
  [false, 'suspects absent as before, and others came', ['1?', '2?', '3', '4'], ['3', '4', '7', '8'], WHOLE],
  [true, 'most suspects under other addresses', ['1', '2?', '3?'], ['1', '2 a@b.c', '3 a@b.c'], WHOLE],
  [false, 'one suspect under another address', ['1', '2', '3?'], ['1', '2', '3 a@b.c'], WHOLE],
  [true, 'other inboxes, although all of the mirror are suspects', ['1?', '2?'], ['7', '8'], WHOLE],
  [true, 'those that have been suspects for longer', ['1??', '2??', '3?', '4?'], ['1', '2'], WHOLE, false],
  [false, 'inboxes with a tombstone absent', ['1x', '2x', '3'], ['3', '7', '8'], WHOLE],
  [false, 'an inbox with a tombstone is back', ['1x', '2'], ['1'], WHOLE],
  [false, 'those of a consent, without the others that it has replaced', ['1^', '2^', '3'], ['3'], WHOLE],
  [
    true,
    'those that a consent has replaced, behind a new access',
    ['1^', '2^', '3'],
    ['1', '2'],
    WHOLE,
    false,
  ],
  [
    true,
    'the only one of a consent, and unknown ones, behind a new access',
    ['1', '2^', '3^', '4^'],
    ['1', '7', '8'],
    WHOLE,
    false,
  ],
  [false, 'any inbox, where the mirror has no live one', ['1x'], ['7'], WHOLE],
  [false, 'one of three on the first pages, and many unknown', ['1', '2', '3'], ['1', '7', '8', '9'], PART],
  [true, 'none of three on the first pages', ['1', '2', '3'], ['7', '8', '9'], PART],
])('another account? %s: %s', (other, _what, mirror, answer, isComplete, isProven = true) => {
  expect(isOther(mirror.map(known), answer.map(listed), { isComplete, isProven, since: NOW })).toBe(other);
});

test.each([
  ['the same inboxes have new addresses, which keeps their rows', ['1 a@new.y', '2 b@new.y']],
  ['it shall replace the content of this mirror', ['1 a@new.y', '7']],
])('the error says when to accept the account: if %s', (reason, answer) => {
  const { message } = otherAccount(
    { inboxes: ['1', '2'].map(known), address: null },
    { listed: answer.map(listed), address: 'https://api.example.com/v1' },
  );
  expect(message).toContain(`If ${reason}, run \`inbox-mirror sync --accept-account\` once.`);
});
