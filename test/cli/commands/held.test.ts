import { expect, test } from 'vitest';
import { firstIds, removeConversations } from '../../support/rows.ts';
import { testProgram, type TestProgram } from '../../support/program.ts';
import { rule } from '../../support/rule.ts';

/** A mirror of two inboxes with 40 conversations each, of which 30 have vanished in each of the first `many`. */
async function held(many: number): Promise<TestProgram> {
  const program = await testProgram({ inboxes: 2, conversations: [40, 40] }, { GONE_AFTER: '0' });
  await program.run('sync');
  for (const inbox of [...program.sandbox.world.inboxes.values()].slice(0, many))
    removeConversations(program, inbox.id, firstIds(inbox.conversations, 30));
  // The second reading is the witness.
  for (let nth = 0; nth < 2; nth += 1) await program.run('sync', 'conversations');
  return program;
}

const ONE_COMMAND = '`npx inbox-mirror resync conversations --accept-deletes`';

test('one command accepts the held deletions of all inboxes if each of them has some', async () => {
  const program = await held(2);
  const { stderr } = await program.run('sync', 'conversations');
  expect(stderr).toContain(
    '60 rows of conversations of 2 inboxes would be marked as deleted. That needs your consent: ' +
      `check the service, then run ${ONE_COMMAND}`,
  );
  expect(stderr).not.toMatch(/^warning: .*--inbox/m);
  const { stdout } = await program.run('status');
  expect(stdout).toContain('30 deletions held');
  expect(stdout).toContain(
    'held     conversations of 2 inboxes: 60 rows are missing at the service and still count. ' +
      `If they are gone, run ${ONE_COMMAND}`,
  );
  await program.run('resync', 'conversations', '--accept-deletes');
  expect((await program.run('status')).stdout).not.toContain('held  ');
});

rule('each list has a command of its own if another list of its kind holds no deletion', async () => {
  const program = await held(1);
  const [inbox] = program.sandbox.world.inboxes.keys();
  const command = `\`npx inbox-mirror resync conversations --inbox ${inbox} --accept-deletes\``;
  expect((await program.run('sync', 'conversations')).stderr).toContain(`then run ${command}`);
  const { stdout } = await program.run('status');
  expect(stdout).toMatch(/held {5}conversations of \S.* \(\d+\): 30 rows are missing at the service/);
  expect(stdout).toContain(`If they are gone, run ${command}`);
});

test('query says on stderr that its answer counts rows whose deletion is held', async () => {
  const program = await held(2);
  const sql = 'SELECT count(*) AS n FROM conversations';
  const warned = await program.run('query', sql, '--format', 'csv');
  expect(warned).toMatchObject({ exitCode: 0, stdout: 'n\n80\n' });
  expect(warned.stderr).toBe(
    'warning: 60 conversations are missing at the service and still count, until a person confirms that ' +
      'they are gone. `npx inbox-mirror status` shows the command for that.\n',
  );
  expect((await program.run('query', 'SELECT 1 AS n')).stderr).toBe('');
  await program.run('resync', 'conversations', '--accept-deletes');
  expect(await program.run('query', sql)).toMatchObject({ exitCode: 0, stderr: '' });
});
