import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withFolderLock } from '../../src/export/folder/lock.ts';
import { temporaryFolder } from '../support/mirror.ts';

test('exports change a folder one after the other', async () => {
  const folder = temporaryFolder();
  const seen: string[] = [];
  const change = (name: string): Promise<void> =>
    withFolderLock(folder, async () => {
      seen.push(`${name} begins`);
      await new Promise(setImmediate);
      seen.push(`${name} ends`);
    });
  await Promise.all(['a', 'b', 'c'].map(change));
  for (const [nth, event] of seen.entries())
    if (nth % 2 === 1) expect(event).toBe(seen[nth - 1]!.replace('begins', 'ends'));
  expect(readdirSync(folder)).toEqual([]);
});

test('the lock of a killed export is taken over, and only once', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.manifest.lock.partial'), 'killed');
  let inside = 0;
  const change = (): Promise<void> =>
    withFolderLock(
      folder,
      async () => {
        inside += 1;
        expect(inside).toBe(1);
        await new Promise(setImmediate);
        inside -= 1;
      },
      50,
    );
  await Promise.all([change(), change(), change()]);
  expect(readdirSync(folder)).toEqual([]);
});

test('an export that fails leaves the lock to the next', async () => {
  const folder = temporaryFolder();
  await expect(withFolderLock(folder, () => Promise.reject(new Error('full disk')))).rejects.toThrow(
    'full disk',
  );
  expect(await withFolderLock(folder, () => Promise.resolve('done'))).toBe('done');
});
