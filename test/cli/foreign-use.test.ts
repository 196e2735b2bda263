import { expect, test } from 'vitest';
import { foreignWords } from '../../src/cli/output/status/status.ts';
import { testProgram, type TestProgram } from '../support/program.ts';

const DAY_FULL = {
  status: 429,
  body: '{"Message":"Too Many Requests: more than 5000 requests in 24 hours"}',
  headers: { 'retry-after': '3600' },
};

/** A mirror of a small account whose day another client fills after `sent` requests of the mirror. */
async function dayFullAfter(sent: number): Promise<TestProgram> {
  const program = await testProgram(
    { conversations: [700] },
    { PAGE_SIZE: '10', REQUESTS_PER_DAY: '200', REQUESTS_RESERVED: '20' },
  );
  const { sandbox } = program;
  sandbox.script(() => (sandbox.arrivals.length > sent ? DAY_FULL : undefined));
  expect(await program.run('sync')).toMatchObject({ exitCode: 4 });
  sandbox.script(undefined);
  return program;
}

test('a full day before the budget is spent lowers the budget, and status and doctor say so', async () => {
  const program = await dayFullAfter(60);
  const { stdout } = await program.run('status', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    budget: { limit: 61, reserved: 6, sent: 61, left: 0 },
    foreign_use: { limit: 'day', sent: 61 },
    gate: { state: 'paused', cause: expect.stringContaining('another client uses the account') },
  });
  const words = 'after 61 requests of this mirror: another client uses the account';
  expect((await program.run('status')).stdout.replaceAll(/\s+/g, ' ')).toContain(words);
  const doctor = await program.run('doctor', '--json');
  expect(doctor.stdout).toContain(words);
});

test('a person who resets the gate also restores the budget', async () => {
  const program = await dayFullAfter(60);
  expect((await program.run('doctor', '--reset-gate')).exitCode).toBe(0);
  const { stdout } = await program.run('status', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ budget: { limit: 200, reserved: 20 }, foreign_use: null });
  expect((await program.run('sync')).exitCode).toBe(0);
});

test('a full day leaves a quarter of the budget to a mirror that had sent less', async () => {
  const program = await dayFullAfter(2);
  const { stdout } = await program.run('status', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ budget: { limit: 50, reserved: 5 } });
});

test('a longer gap between requests is explained by the 429s that caused it', () => {
  const context = { budget: { perSecond: 1 }, now: 0 };
  expect(foreignWords({ kind: 'rate', slowdown: 3.5 }, context)).toBe(
    'the service answered 429 (too many requests): requests now leave at least 3.5 s apart. ' +
      'If it answers 429 again, another client uses the account, or REQUESTS_PER_SECOND is too high',
  );
});
