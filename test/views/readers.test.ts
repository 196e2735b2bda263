import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { sized } from '../support/histories.ts';
import { mirrorOf } from '../support/mirror.ts';
import { ON_SQLITE, urlOf } from '../support/provider.ts';
import { count } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

const READERS = sized(6, 20);

/** The writer runs for this many seconds; with 0, until each reader has completed a turn beside it. */
const SECONDS = Number(process.env['READERS_SECONDS'] ?? 0);

interface Witness {
  readonly turns: () => number;
  /** Resolves after its next turn. */
  turned(): Promise<unknown>;
  /** Ends the process and returns its errors. */
  end(): Promise<string>;
}

function witness(url: string, least: number): Witness {
  const args = [join(import.meta.dirname, '../support/child-witness.ts'), url, String(least), ...VIEW_NAMES];
  const child = spawn(process.execPath, args, { stdio: 'pipe', env: { ...process.env, NODE_OPTIONS: '' } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let errors = '';
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  let turns = 0;
  // The test does not wait for a reader that has failed.
  child.once('close', () => (turns = Number.POSITIVE_INFINITY));
  const output = createInterface({ input: child.stdout }).on('line', () => (turns += 1));
  return {
    turns: () => turns,
    turned: () => Promise.race([once(output, 'line'), closed]),
    async end() {
      // A reader that has failed no longer reads its stdin.
      child.stdin.on('error', () => undefined).end();
      await closed;
      return errors;
    },
  };
}

/** Changes the status and the tag of every conversation. */
function nextRound({ inboxes }: World, round: number): void {
  for (const { tags, conversations } of inboxes.values()) {
    const tag = tags.order[round % tags.size] ?? '';
    for (const row of conversations.values())
      Object.assign(row, { status: `${round} ${tag}`, tag_ids: [tag] });
  }
}

test(
  'processes that query without pause delay no resync, see no half page and miss no live row',
  async () => {
    const path = await freshMirrorFile();
    const mirror = await mirrorOf({
      path,
      pageSize: 50,
      sandbox: { conversations: [150, 60], sharedShare: 0, tagsPerInbox: 3 },
    });
    const { world } = mirror.sandbox;
    nextRound(world, 0);
    await mirror.sync();
    // Without a busy time-out, a writer that had to wait for a reader fails at once.
    if (ON_SQLITE) await mirror.database.query('PRAGMA busy_timeout = 0');
    const least = await count(mirror.database, 'conversations');
    const readers = Array.from({ length: READERS }, () => witness(urlOf(path), least));
    await Promise.all(readers.map(({ turned }) => turned()));
    const before = readers.map(({ turns }) => turns());
    const until = performance.now() + SECONDS * 1000;
    let round = 0;
    while (performance.now() < until || readers.some(({ turns }, nth) => turns() === before[nth])) {
      round += 1;
      world.addConversation([...world.inboxes.keys()][round % 2] ?? '');
      nextRound(world, round);
      const { stopped, lists } = await mirror.sync({ kind: 'resync' });
      expect([stopped, ...lists.map(({ error }) => error)].filter((error) => error !== null)).toEqual([]);
    }
    const turns = readers.map((reader) => reader.turns());
    expect(await Promise.all(readers.map(({ end }) => end()))).toEqual(readers.map(() => ''));
    if (SECONDS > 0) console.log({ resyncs: round, turns });
  },
  60_000 + SECONDS * 2000,
);
