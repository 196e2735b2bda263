import { existsSync, rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { EXIT, MirrorError } from '../../core/errors.ts';
import { LIST_NAMES } from '../../core/lists.ts';
import { SANDBOX_KEY } from '../../core/secrets.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { type Io, paint, printLine } from '../../session/terminal.ts';
import { notEmpty, type Runner } from '../options.ts';
import { ownCommand } from '../../session/words/own-command.ts';

/** Slow enough for a person to watch. The real service allows 1 a second. */
const REQUESTS_PER_SECOND = 10;
const EVENTS = 25;

/** The demo's passes carry this name, which tells its file from a real mirror. */
const COMMAND = 'inbox-mirror demo';

const QUESTIONS = [
  {
    question: 'How much is open, and where?',
    sql: `SELECT inbox, open, pending, closed, unassigned
FROM backlog_now ORDER BY open DESC, inbox`,
  },
  {
    question: 'Who has the most open work?',
    sql: `SELECT assignee, assignee_id, inbox, open, pending
FROM assignee_workload ORDER BY open DESC, assignee LIMIT 5`,
  },
  {
    question: 'Which tags are used most?',
    sql: `SELECT tag, sum(conversations) AS conversations, sum(not_closed) AS not_closed
FROM tag_volume GROUP BY tag ORDER BY conversations DESC, tag LIMIT 5`,
  },
];

const PRESENCE = `The field presence tells of a whole conversation: it is first seen, gone, or
back. Several events on one conversation before it is read can be one row, or none.`;

export function addDemo(program: Command, run: Runner): void {
  program
    .command('demo')
    .summary('try it with invented data; needs no account')
    .description(
      'Mirrors the sandbox into demo.db, runs three queries, changes the data, ' +
        'syncs again and prints the changes. Takes about 6 seconds: ' +
        `this sandbox allows ${REQUESTS_PER_SECOND} requests per second, the service allows 1.`,
    )
    .option('--database <file>', 'the file to write; an earlier demo in it is replaced', notEmpty, 'demo.db')
    .action(({ database }: { database: string }) => run((io) => runDemo(io, database)));
}

async function runDemo(io: Io, file: string): Promise<number> {
  const { createSandbox } = await import('../../sandbox/sandbox.ts');
  const path = resolve(io.cwd, file);
  await clearEarlierDemo(path);
  const sandbox = createSandbox({ conversations: [420, 260, 90], rate: REQUESTS_PER_SECOND, seed: 7 });
  const server = await sandbox.listen();
  try {
    const demo: Io = { ...io, env: demoEnvironment(path, server.url) };
    heading(io, '1. Mirror the sandbox, a stand-in for the service, into SQLite');
    await sync(demo);
    heading(io, '2. Query the copy in SQL');
    for (const { question, sql } of QUESTIONS) await answer(io, path, question, sql);
    heading(io, `3. Let ${EVENTS} things happen at the service, and sync again`);
    changeData(sandbox);
    await sync(demo);
    await printChanges(demo);
    printLine(io.stdout, `\n${PRESENCE}`);
    heading(io, '4. Next steps');
    printLine(io.stdout, nextSteps(relative(io.cwd, path) || path, ownCommand(io)));
    return EXIT.done;
  } finally {
    await server.close();
  }
}

/**
 * Deletes the file of an earlier demo.
 * @throws MirrorError `USAGE` for any other file, because a real mirror has a history to lose
 */
async function clearEarlierDemo(path: string): Promise<void> {
  if (existsSync(path) && !(await isDemo(path))) {
    throw new MirrorError(
      'USAGE',
      `${path} exists and is not from an earlier demo, so the demo does not overwrite it. ` +
        'Delete it if a demo that was killed has left it, or name another file with --database.',
    );
  }
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

async function isDemo(path: string): Promise<boolean> {
  const { openReadOnly } = await import('../../query/open.ts');
  try {
    const mirror = await openReadOnly(`file:${path}`);
    try {
      const { rows } = await mirror.query(
        `SELECT count(*), sum(requested_by = '${COMMAND}') FROM sync_requests`,
      );
      const [[all, byDemo] = []] = await Array.fromAsync(rows);
      return all === byDemo && all !== 0;
    } finally {
      await mirror.close();
    }
  } catch {
    return false;
  }
}

/** Plays usual changes, and removes one conversation, which gets a tombstone. */
function changeData({ world, applyEvents }: Sandbox): void {
  applyEvents(EVENTS - 1);
  const [busiest] = world.inboxes.values();
  const [oldest] = busiest?.conversations.keys() ?? [];
  if (busiest !== undefined && oldest !== undefined) world.removeConversation(busiest.id, oldest);
}

function demoEnvironment(path: string, url: string): Io['env'] {
  return {
    INBOX_API_URL: url,
    INBOX_API_KEY: SANDBOX_KEY,
    DATABASE_URL: `file:${path}`,
    REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
    LOG_LEVEL: 'warn',
  };
}

async function sync(io: Io): Promise<void> {
  const { withSession } = await import('../../session/session.ts');
  const { runPassCommand } = await import('../pass/run.ts');
  const scope = {
    kind: 'sync',
    lists: LIST_NAMES,
    inboxId: null,
    acceptDeletes: false,
    acceptAccount: false,
  } as const;
  const command = { spec: { ...scope, requestedBy: COMMAND }, json: false, detach: false };
  printLine(io.stdout, '');
  const exitCode = await withSession(io, (session) => runPassCommand(io, session, command));
  io.signal.throwIfAborted();
  if (exitCode !== EXIT.done)
    throw new MirrorError('SERVICE_DOWN', 'The demo stopped early; the lines above show why. Run it again.');
}

async function answer(io: Io, path: string, question: string, sql: string): Promise<void> {
  const { openReadOnly } = await import('../../query/open.ts');
  const { printRows } = await import('../output/rows.ts');
  printLine(io.stdout, `\n${paint(io.stdout, 'bold', question)}\n${paint(io.stdout, 'dim', sql)}\n`);
  const mirror = await openReadOnly(`file:${path}`);
  try {
    await printRows(io, await mirror.query(sql), { format: 'table' }, io.signal);
  } finally {
    await mirror.close();
  }
}

/** Prints the changes with their names, as the command does. */
async function printChanges(demo: Io): Promise<void> {
  const { runChanges } = await import('./read/changes.ts');
  const command = 'inbox-mirror changes --list conversations';
  const [question, below] = [paint(demo.stdout, 'bold', 'What changed?'), paint(demo.stdout, 'dim', command)];
  printLine(demo.stdout, `\n${question}\n${below}\n`);
  await runChanges(demo, { list: 'conversations', format: 'table' });
}

function heading(io: Io, text: string): void {
  printLine(io.stdout, `\n${paint(io.stdout, ['bold', 'cyan'], text)}`);
}

function nextSteps(file: string, command: string): string {
  return [
    `\nThe copy is in ${file}. Query it again:`,
    `  DATABASE_URL=file:${file} ${command} query "SELECT * FROM budget"`,
    `  DATABASE_URL=file:${file} ${command} tables`,
    'or open it with any SQLite program. For your own inboxes:',
    `  ${command} init     # asks for address and key, and writes .env`,
    `  ${command} start    # copies the inboxes, keeps the copy fresh and serves`,
    `  ${' '.repeat(command.length)}          # web pages at http://127.0.0.1:8787`,
  ].join('\n');
}
