import { expect, test } from 'vitest';
import { testProgram } from '../support/program.ts';
import { parseSince } from '../../src/cli/arguments.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');

test.each([
  ['2026-11-21', '2026-11-21T00:00:00.000Z'],
  ['2026-11-21T08:30', '2026-11-21T08:30:00.000Z'],
  ['2026-11-21 08:30:15', '2026-11-21T08:30:15.000Z'],
  ['2026-11-21T08:30:15.250Z', '2026-11-21T08:30:15.250Z'],
  ['2026-11-21T08:30+01:00', '2026-11-21T07:30:00.000Z'],
  ['30min', '2026-11-21T11:30:00.000Z'],
  ['30m', '2026-11-21T11:30:00.000Z'],
  ['3days ago', '2026-11-18T12:00:00.000Z'],
  ['99999999999999d', '1970-01-01T00:00:00.000Z'],
  ['2 h', '2026-11-21T10:00:00.000Z'],
  ['7d', '2026-11-14T12:00:00.000Z'],
  ['90s', '2026-11-21T11:58:30.000Z'],
  ['3days', '2026-11-18T12:00:00.000Z'],
  ['1week', '2026-11-14T12:00:00.000Z'],
  ['today', '2026-11-21T00:00:00.000Z'],
  ['yesterday', '2026-11-20T00:00:00.000Z'],
])('--since %s means %s', (text, instant) => {
  expect(parseSince(text, NOW).toISOString()).toBe(instant);
});

test.each([
  'last week',
  '2026-11-20 ago',
  '',
  '2026-13-01',
  '2026-02-30',
  '2026-02-30T08:00:00Z',
  '2026-11-21T25:00',
  '5',
  '-2h',
  '2026-11-21T08:30 CET',
])('--since %j is refused with the accepted forms', (text) => {
  expect(() => parseSince(text, NOW)).toThrow('--since: expected a date, an instant or a length of time');
});

test.each([
  ['lookup', 'user', '--inbox', '', '--email', 'jane@example.com'],
  ['lookup', 'user', '--inbox', '7', '--email', ' '],
  ['lookup', 'tag', '--inbox', '7', '--name', ''],
  ['sync', '--inbox', ''],
  ['resync', '--inbox', ''],
  ['changes', '--inbox', ''],
  ['changes', '--item', ''],
  ['changes', '--field', ''],
  ['demo', '--database', ''],
])('the empty value in `%s %s %s %s %s %s` is a usage error, and nothing is sent', async (...argv) => {
  const program = await testProgram();
  const { exitCode, stderr } = await program.run(...argv.filter((word) => word !== undefined));
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/empty/) as string,
  });
  expect(program.sandbox.arrivals).toEqual([]);
});

test.each([['sync'], ['resync'], ['changes'], ['lookup', 'user', '--email', 'jane@example.com']])(
  'a second --inbox of `%s` is a usage error, and nothing is sent',
  async (...command) => {
    const program = await testProgram();
    const { exitCode, stderr } = await program.run(...command, '--inbox', '20117', '--inbox', '20118');
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      "'--inbox <inbox>' argument '20118' is invalid. A command takes one inbox only.",
    );
    expect(program.sandbox.arrivals).toEqual([]);
  },
);
