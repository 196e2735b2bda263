import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readersOf } from '../../../../src/cli/commands/setup/readers.ts';
import { temporaryFolder } from '../../../support/mirror.ts';
import { testProgram } from '../../../support/program.ts';

/** A mirror's file in a folder, with these modes. */
function fileWith(folderMode: number, fileMode: number): string {
  const above = temporaryFolder();
  chmodSync(above, 0o755);
  const folder = join(above, 'mirror');
  mkdirSync(folder);
  const path = join(folder, 'mirror.db');
  writeFileSync(path, '');
  chmodSync(path, fileMode);
  chmodSync(folder, folderMode);
  return path;
}

test.each([
  ['0700 and 0600', 0o700, 0o600, 'ok', /^only the account \S+ may read \/.*mirror\.db$/],
  ['0750 and 0640', 0o750, 0o640, 'ok', /^the account \S+, and while a daemon runs the group \S+, may read /],
  ['0700 and 0640', 0o700, 0o640, 'warning', /may not enter \S+mirror; run chgrp \S+ \S+ && chmod g\+x \S+$/],
  ['0750 and 0660', 0o750, 0o660, 'warning', /may also change it; run chmod g-w \S+mirror\.db$/],
  ['0770 and 0640', 0o770, 0o640, 'warning', /the daemon would not start; run chmod g-w \S+mirror$/],
])('doctor judges a folder and a file with the modes %s', (_modes, folder, file, verdict, message) => {
  expect(readersOf(fileWith(folder, file))).toEqual({
    verdict,
    message: expect.stringMatching(message) as string,
  });
});

test('doctor names the only account that may read the file of a new mirror', async () => {
  const program = await testProgram({ conversations: [2] });
  await program.run('sync');
  expect(statSync(join(program.folder, 'mirror.db')).mode & 0o777).toBe(0o600);
  const { stdout } = await program.run('doctor');
  expect(stdout).toMatch(/ok +readers +only the account \S+ may read/);
});
