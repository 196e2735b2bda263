import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inTurn } from '../../src/export/folder/turn.ts';
import { temporaryFolder } from '../support/mirror.ts';

test('exports change a folder one after the other', async () => {
  const folder = temporaryFolder();
  const seen: string[] = [];
  const turn = (name: string): Promise<void> =>
    inTurn(folder, async () => {
      seen.push(`${name} begins`);
      await new Promise(setImmediate);
      seen.push(`${name} ends`);
    });
  await Promise.all(['a', 'b', 'c'].map(turn));
  for (const [nth, event] of seen.entries())
    if (nth % 2 === 1) expect(event).toBe(seen[nth - 1]!.replace('begins', 'ends'));
  expect(readdirSync(folder)).toEqual([]);
});

test('the lock of a killed export is taken over, and only once', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.manifest.lock.partial'), 'killed');
  let inside = 0;
  const turn = (): Promise<void> =>
    inTurn(
      folder,
      async () => {
        inside += 1;
        expect(inside).toBe(1);
        await new Promise(setImmediate);
        inside -= 1;
      },
      50,
    );
  await Promise.all([turn(), turn(), turn()]);
  expect(readdirSync(folder)).toEqual([]);
});

test('an export that fails in its turn leaves the turn to the next', async () => {
  const folder = temporaryFolder();
  await expect(inTurn(folder, () => Promise.reject(new Error('full disk')))).rejects.toThrow('full disk');
  expect(await inTurn(folder, () => Promise.resolve('done'))).toBe('done');
});
