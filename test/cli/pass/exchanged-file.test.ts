import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openMirror } from '../../../src/library/library.ts';
import { mirrorFile, type TestProgram, testProgram } from '../../support/program.ts';

const LARGE = { inboxes: 1, conversations: 200 };
const SMALL_PAGES = { PAGE_SIZE: '10' };

/** Pages that a list has left when its file is lost: more than a pass may have under way. */
const LEFT = 10;

function removeAll({ folder }: TestProgram): void {
  for (const file of readdirSync(folder)) rmSync(join(folder, file));
}

function replace(program: TestProgram): void {
  copyFileSync(join(program.folder, 'backup.db'), join(program.folder, 'new.db'));
  renameSync(join(program.folder, 'new.db'), mirrorFile(program));
}

function moveFolder({ folder }: TestProgram): void {
  renameSync(folder, `${folder}-moved`);
  mkdirSync(folder);
}

/** Loses the file at the arrival of the fifth page of conversations. @returns the requests that came later */
function losing(program: TestProgram, lose: (program: TestProgram) => void): () => number {
  let pages = 0;
  let later = 0;
  program.sandbox.script(({ path }) => {
    if (pages >= 5) later += 1;
    if (path.includes('/conversations')) pages += 1;
    if (pages === 5 && later === 0) lose(program);
    return undefined;
  });
  return () => later;
}

test.each([
  ['sync', 'deleted', removeAll],
  ['resync', 'replaced by an older one', replace],
  ['sync', 'moved with its folder', moveFolder],
] as const)(
  'a %s whose file is %s says so, sends little more and exits with 1',
  async (command, _how, lose) => {
    const program = await testProgram(LARGE, SMALL_PAGES);
    copyFileSync(mirrorFile(program), join(program.folder, 'backup.db'));
    const later = losing(program, lose);
    const { exitCode, stdout, stderr } = await program.run(command);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`The file ${mirrorFile(program)} was deleted, replaced or made smaller while`);
    expect(stderr).toMatch(/Make sure that the right mirror is there, and run the command again/);
    expect(stdout).not.toContain('complete');
    expect(later()).toBeLessThan(LEFT);
  },
);

test('a sync whose file is deleted during its last request does not call itself complete', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 5 });
  program.sandbox.script(({ path }) => {
    if (path.includes('/conversations')) rmSync(mirrorFile(program));
    return undefined;
  });
  expect(await program.run('sync', 'conversations')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('was deleted, replaced or made smaller') as unknown,
  });
});

test('a sync of the library whose file is deleted throws a database error', async () => {
  const program = await testProgram(LARGE, SMALL_PAGES);
  const mirror = await openMirror({ env: program.env, cwd: program.folder });
  losing(program, removeAll);
  await expect(mirror.sync()).rejects.toMatchObject({
    code: 'DATABASE',
    message: expect.stringContaining('was deleted, replaced or made smaller') as unknown,
  });
  await mirror.close();
});
