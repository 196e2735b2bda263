import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { exportMirror } from '../../src/export/export.ts';
import { newPlace, temporaryFolder } from '../support/mirror.ts';

test('an export that a person stops in the middle of a table leaves no file', async () => {
  const path = await newPlace();
  const folder = join(temporaryFolder(), 'lake');
  mkdirSync(folder);
  const writer = await openDatabase(`file:${path}`);
  await writer.execute(`CREATE VIEW endless AS
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT n FROM numbers`);
  await writer.close();
  const stop = new AbortController();
  const seen: string[] = [];
  const task = {
    tables: ['inboxes', 'endless'],
    format: 'ndjson' as const,
    folder,
    sinceId: null,
    force: false,
    raw: false,
    version: '0.0.0-test',
    now: Date.now(),
    onRows(table: string, rows: number) {
      if (table !== 'endless' || rows === 0) return;
      seen.push(...readdirSync(folder));
      stop.abort(new Error('stopped by a person'));
    },
  };
  await expect(exportMirror(`file:${path}`, task, stop.signal)).rejects.toThrow('stopped by a person');
  expect(seen).toContainEqual(expect.stringMatching(/^\.endless\.ndjson\..+\.partial$/));
  expect(readdirSync(folder)).toEqual([]);
});
