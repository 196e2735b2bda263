import { expect, test } from 'vitest';
import { ownCommand } from '../../src/cli/own-command.ts';

test.each([
  ['in a clone', 'src/cli/own-command.ts', {}, 'npx inbox-mirror'],
  ['run by npx', 'dist/cli/own-command.js', { npm_command: 'exec' }, 'npx inbox-mirror'],
  ['installed', 'dist/cli/own-command.js', {}, 'inbox-mirror'],
])('the program %s names itself as a person runs it', (_where, file, env, command) => {
  expect(ownCommand({ env }, file)).toBe(command);
});
