import { expect, test } from 'vitest';
import { SECRET, testProgram } from '../support/program.ts';

test('sync, status and doctor print why the service refuses the key, without the key', async () => {
  const program = await testProgram();
  const entities = SECRET.replaceAll(/./g, (character) => `&#${character.charCodeAt(0)};`);
  const body = JSON.stringify({ errors: [{ message: `Key ${SECRET}, ${entities}\u001B[8m:\nexpired` }] });
  program.sandbox.script(() => ({ status: 403, body }));

  const reason = 'HTTP 403: Key [key], [key] [8m: expired';
  const sync = await program.run('sync');
  expect(sync).toMatchObject({ exitCode: 3, stderr: expect.stringContaining(reason) as string });
  expect((await program.run('status')).stdout).toContain(
    `requests stopped until another key is set, or \`npx inbox-mirror doctor\` finds this one valid again (${reason})`,
  );
  const doctor = await program.run('doctor');
  expect(doctor).toMatchObject({ exitCode: 3, stdout: expect.stringContaining(reason) as string });
});

test('sync and status print what the service says about its limit', async () => {
  const program = await testProgram();
  const answer = { status: 429, body: '{"Message":"Wait for Monday"}', headers: { 'retry-after': '3600' } };
  program.sandbox.script(() => answer);
  const sync = await program.run('sync');
  expect(sync).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('"Wait for Monday"') as string });
  expect((await program.run('status')).stdout).toMatch(/^requests .*Wait for Monday/m);
});
