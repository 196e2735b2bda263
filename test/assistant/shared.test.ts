import { expect, test } from 'vitest';
import { sharedFor } from '../../src/assistant/shared.ts';

test('a shared read serves calls for its time, is then read again, and a failure is not kept', async () => {
  let now = 0;
  const answers = [new Error('no mirror'), 'old', 'new'];
  const read = sharedFor(
    10,
    async () => {
      const next = answers.shift();
      if (next instanceof Error) throw next;
      return next;
    },
    () => now,
  );
  await expect(Promise.all([read(), read()])).rejects.toThrow('no mirror');
  expect(await Promise.all([read(), read()])).toEqual(['old', 'old']);
  now = 9;
  expect(await read()).toBe('old');
  now = 10;
  expect(await read()).toBe('new');
});
