import { pino } from 'pino';
import { expect, test } from 'vitest';
import { conversationsOf } from '../../../src/core/lists.ts';
import { logPassEvent } from '../../../src/session/words/pass-events.ts';

test('the log names held deletions as an error, with the command that accepts them', () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => lines.push(line) });
  logPassEvent({ kind: 'held', key: conversationsOf('7'), rows: 40 }, log, 'debug');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({
      level: 50,
      list: 'conversations/7',
      held: 40,
      msg: expect.stringMatching(/would be marked as deleted; waiting for .*--accept-deletes/) as string,
    }),
  ]);
});
