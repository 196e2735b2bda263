import { expect, test } from 'vitest';
import { asTyped, ownCommand } from '../../../src/session/words/own-command.ts';

test.each([
  ['in a clone', 'src/session/words/own-command.ts', {}, 'npx inbox-mirror'],
  ['run by npx', 'dist/session/words/own-command.js', { npm_command: 'exec' }, 'npx inbox-mirror'],
  ['installed', 'dist/session/words/own-command.js', {}, 'inbox-mirror'],
])('the program %s names itself as a person runs it', (_where, file, env, command) => {
  expect(ownCommand({ env }, file)).toBe(command);
});

test('commands in backticks are as a person types them here; names of other things stay', () => {
  const text = 'An older inbox-mirror: run `inbox-mirror status`, or `inbox-mirror sync inboxes`.';
  expect(asTyped(text, 'npx inbox-mirror')).toBe(
    'An older inbox-mirror: run `npx inbox-mirror status`, or `npx inbox-mirror sync inboxes`.',
  );
  expect(asTyped(text, 'inbox-mirror')).toBe(text);
});

test.each([
  'held by `inbox-mirror start`, process 41 on mirror-1',
  '`inbox-mirror sync --inbox 7` (process 41 on mirror-1) writes to it',
  'order 3, by `inbox-mirror resync`',
])('a command that names another process stays as it was started: %s', (text) => {
  expect(asTyped(text, 'npx inbox-mirror')).toBe(text);
});
