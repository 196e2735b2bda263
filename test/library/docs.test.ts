import { Console } from 'node:console';
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { openMirror, type OpenedMirror } from '../../src/library/library.ts';
import { urlOf } from '../support/provider.ts';
import { livelyWeek } from '../views/lively.ts';
import { ask } from '../views/support.ts';

const FILE = join(import.meta.dirname, '../../docs/prisma.md');
const QUESTION = /^### (.*)\n\n```ts\n([\s\S]*?)```\n\n```\n([\s\S]*?)```\n/gm;

test('each of the ten questions of docs/prisma.md returns the documented answer', async () => {
  const lively = await livelyWeek();
  // This stops the clock of the views.
  await ask(lively, 'SELECT 1');
  const mirror = await openMirror(urlOf(lively.place));
  onTestFinished(() => mirror.close());
  const doc = readFileSync(FILE, 'utf8');
  const questions = [...doc.matchAll(QUESTION)];
  expect(questions).toHaveLength(10);
  let written = doc;
  for (const [block, title, code, answer] of questions) {
    const got = await outputOf(code!, mirror);
    expect(got, title).not.toBe('');
    // UPDATE_DOCS=1 writes the answers into the document, for review before a commit.
    if (process.env['UPDATE_DOCS'] === '1')
      written = written.replace(block, () =>
        block.replace(`\`\`\`\n${answer}\`\`\`\n`, () => `\`\`\`\n${got}\`\`\`\n`),
      );
    else expect(`${title}\n${answer}`).toBe(`${title}\n${got}`);
  }
  if (written !== doc) writeFileSync(FILE, written);
});

/** Runs a question and returns what it prints. */
async function outputOf(code: string, mirror: OpenedMirror): Promise<string> {
  const stream = new PassThrough({ encoding: 'utf8' });
  const AsyncFunction = (async () => undefined).constructor as new (
    ...words: string[]
  ) => (...values: unknown[]) => Promise<void>;
  const run = new AsyncFunction('mirror', 'console', stripTypeScriptTypes(code));
  await run(mirror, new Console({ stdout: stream, colorMode: false }));
  return (stream.read() as string | null) ?? '';
}
