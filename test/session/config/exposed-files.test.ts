import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon } from '../../support/daemon-process.ts';
import { mirrorFile, newProgram, SECRET } from '../../support/program.ts';

test.skipIf(process.platform === 'win32')(
  'start and doctor warn once about a key or mirror that every user may read',
  async () => {
    const program = await newProgram({ inboxes: 1 });
    const keyFile = join(program.folder, 'key');
    writeFileSync(keyFile, SECRET, { mode: 0o640 });
    delete program.env['INBOX_API_KEY'];
    program.env['INBOX_API_KEY_FILE'] = 'key';
    await program.run('sync');
    expect((await program.run('doctor')).stdout).not.toContain('every user');
    chmodSync(keyFile, 0o644);
    chmodSync(mirrorFile(program), 0o604);
    const { stdout } = await program.run('doctor');
    expect(stdout).toMatch(/warning +configuration +INBOX_API_KEY_FILE: every user of this machine may read/);
    expect(stdout).toMatch(/warning +configuration +the mirror: every user/);
    const daemon = startDaemon(program);
    await daemon.said(/^started/);
    expect(daemon.log.filter(({ msg }) => msg.includes('every user')).map(({ level }) => level)).toEqual([
      40, 40,
    ]);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
  },
);

test.skipIf(process.platform === 'win32')('a new mirror can be read by its owner only', async () => {
  const program = await newProgram({ inboxes: 1 });
  await program.run('sync', 'inboxes');
  expect(statSync(mirrorFile(program)).mode & 0o777).toBe(0o600);
});
