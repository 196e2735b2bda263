import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readLines, type Row } from '../../bench/peers/copies.ts';
import { Observer } from '../../bench/peers/observer.ts';

describe('the observer of the copies', () => {
  test('a change counts from its instant until the copy shows it', () => {
    const observer = new Observer({ a: 'open' });
    observer.changed('a', { at: 1000, text: 'closed' });
    observer.look('lane', { a: 'open' }, 2000);
    observer.look('lane', { a: 'closed' }, 5000);
    observer.look('lane', { a: 'closed' }, 9000);
    expect(observer.resultOf('lane')).toMatchObject({
      changes: 1,
      seen: 1,
      meanSeconds: 4,
      longestSeconds: 4,
    });
  });

  test('a copy that skips a version has reached it with the next one', () => {
    const observer = new Observer({ a: 'open' });
    observer.changed('a', { at: 1000, text: 'pending' });
    observer.changed('a', { at: 3000, text: 'closed' });
    observer.look('lane', { a: 'closed' }, 4000);
    expect(observer.resultOf('lane')).toMatchObject({ seen: 2, meanSeconds: 2, longestSeconds: 3 });
  });

  test('a change that is undone before the copy shows it is not reached', () => {
    const observer = new Observer({ a: 'open' });
    observer.changed('a', { at: 1000, text: 'closed' });
    observer.changed('a', { at: 2000, text: 'open' });
    observer.look('lane', { a: 'open' }, 9000);
    expect(observer.resultOf('lane')).toMatchObject({ changes: 2, seen: 0 });
  });

  test('a new row is a change, a removed one is none', () => {
    const observer = new Observer({ a: 'open', b: 'open' });
    observer.changed('a', { at: 1000, text: null });
    observer.changed('c', { at: 1000, text: 'open' });
    observer.look('lane', { b: 'open', c: 'open' }, 3000);
    expect(observer.resultOf('lane')).toMatchObject({ changes: 1, seen: 1, meanSeconds: 2 });
  });

  test('the fewest rows of any look are kept', () => {
    const observer = new Observer({ a: 'open', b: 'open' });
    observer.look('lane', { a: 'open' }, 1000);
    observer.look('lane', { a: 'open', b: 'open' }, 2000);
    expect(observer.resultOf('lane').leastShare).toBe(0.5);
  });
});

describe('a copy of JSON lines', () => {
  const row = (id: string, status: string): string =>
    JSON.stringify({ inbox_id: '1', id, status, assignee_id: null, tag_ids: '7,30' });

  function readFolder(files: Record<string, string>): ReturnType<typeof readLines> {
    const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return readLines(folder, '*.jsonl', (line) => line as Row);
  }

  test('shows the newest line of a key, and counts the others as doubled', () => {
    const copy = readFolder({ '2.jsonl': row('a', 'closed'), '1.jsonl': `${row('a', 'open')}\n` });
    expect(copy).toEqual({ rows: { '1/a': 'closed  30 7' }, doubled: 1 });
  });

  test('leaves out a line that a killed process has not finished', () => {
    const { rows } = readFolder({ '1.jsonl': `${row('a', 'open')}\n${row('b', 'open').slice(0, 20)}` });
    expect(Object.keys(rows)).toEqual(['1/a']);
  });
});
