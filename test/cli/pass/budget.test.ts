import { expect, test } from 'vitest';
import { tamper, testProgram } from '../../support/program.ts';

test('a sync that comes seconds too early for the budget of a day waits, says so, and reads all lists', async () => {
  const program = await testProgram(
    { inboxes: 1, conversations: 5 },
    { REQUESTS_PER_DAY: '4', REQUESTS_RESERVED: '0' },
  );
  expect(await program.run('sync')).toMatchObject({ exitCode: 0 });
  expect(await program.run('sync')).toMatchObject({ exitCode: 4 });
  // A request counts for a day and 30 seconds.
  tamper(
    program,
    `UPDATE requests SET sent_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', '-1 day', '-26 seconds')`,
  );
  const { exitCode, stderr, stdout } = await program.run('sync');
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  expect(stderr).toContain("the day's budget is spent; waiting until a request is free again");
  expect(stdout).toMatch(/conversations .* complete/);
});
