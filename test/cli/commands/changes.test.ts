import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { mirrorFile, newProgram, type TestProgram, testProgram } from '../../support/program.ts';
import { parseLines } from '../../support/rows.ts';
import { renderOnTerminal, runOnTerminal } from '../../support/terminal.ts';

const BIN = join(import.meta.dirname, '../../../bin/inbox-mirror.cjs');

interface Line {
  readonly id: number;
  readonly cursor: string;
  readonly field: string;
  readonly list: string;
  readonly item_id: string;
  readonly observed_at: string;
}

/** A mirror with a baseline and the changes of two later passes. */
async function withHistory(): Promise<TestProgram> {
  const program = await testProgram({ inboxes: 2, conversations: 40 });
  await program.run('sync');
  for (let pass = 0; pass < 2; pass += 1) {
    program.sandbox.applyEvents(25);
    await program.run('sync');
  }
  return program;
}

async function linesOf(program: TestProgram, ...argv: string[]): Promise<Line[]> {
  const { stdout } = await program.run('changes', '--format', 'ndjson', ...argv);
  return parseLines<Line>(stdout);
}

test('the changes command prints the oldest change first, in every format', async () => {
  const program = await withHistory();
  const lines = await linesOf(program);
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.map(({ id }) => id)).toEqual(lines.map((_, index) => index + 1));
  expect(JSON.parse((await program.run('changes', '--format', 'json')).stdout)).toEqual(lines);
  const csv = (await program.run('changes', '--format', 'csv')).stdout.trim().split('\n');
  expect(csv[0]).toBe(Object.keys(lines[0] ?? {}).join(','));
  expect(csv).toHaveLength(lines.length + 1);
  const { stdout } = await program.run('changes');
  expect(stdout.split('\n')[0]).toMatch(/^id {2}seen \(UTC\) +inbox +item +field +change$/);
});

test('the changes command combines its filters, and a cursor resumes without loss or repeat', async () => {
  const program = await withHistory();
  const all = await linesOf(program);
  const status = await linesOf(program, '--list', 'conversations', '--field', 'status');
  expect(status).toEqual(all.filter(({ field, list }) => field === 'status' && list === 'conversations'));
  expect(status.length).toBeGreaterThan(0);
  const first = await linesOf(program, '--since-id', '0', '--limit', '7');
  const rest = await linesOf(program, '--since-id', String(first.at(-1)?.id));
  expect([...first, ...rest]).toEqual(all);
  expect(await linesOf(program, '--limit', '3')).toEqual(all.slice(-3));
  const middle = all[Math.floor(all.length / 2)];
  expect(await linesOf(program, '--since', String(middle?.observed_at))).toEqual(
    all.filter(({ observed_at }) => observed_at >= String(middle?.observed_at)),
  );
  expect(await linesOf(program, '--since-id', String(all.at(-1)?.id))).toEqual([]);
});

test('the changes command prints an empty result of a mirror without changes, in every format', async () => {
  const program = await testProgram({ inboxes: 1 });
  await program.run('sync');
  expect((await program.run('changes')).stdout).toBe('(no changes)\n');
  expect((await program.run('changes', '--format', 'json')).stdout).toBe('[]\n');
  expect((await program.run('changes', '--format', 'ndjson')).stdout).toBe('');
  expect((await program.run('changes', '--format', 'csv')).stdout).toMatch(/^id,observed_at,/);
});

test.each([
  [['--since', 'soon'], '--since: expected'],
  [['--until', 'soon'], '--until: expected'],
  [['--since', '2026-11-22', '--until', '2026-11-21'], '--until: 2026-11-21T00:00:00.000Z is before --since'],
  [['--field', 'statsu'], 'Perhaps you meant "status".'],
  [['--list', 'tags', '--field', 'status'], 'The fields are: presence, name, color_code, type, created_at.'],
  [['--follow', '--until', 'today'], 'Use one.'],
  [['--since-id', '-1'], '--since-id: expected a whole number'],
  [['--limit', 'many'], '--limit: expected a whole number'],
  [['--limit', '0'], '--limit: expected 1 or more'],
  [['--list', 'mails'], 'inboxes, users, tags, conversations'],
  [['--follow', '--format', 'json'], '--format ndjson'],
])('the changes command refuses %j with exit code 2 and a reason', async (argv, sentence) => {
  const program = await testProgram();
  const { exitCode, stderr } = await program.run('changes', ...argv);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});

test('the changes command refuses an id beyond the newest change, with exit code 2 and advice', async () => {
  const program = await withHistory();
  const last = (await linesOf(program)).at(-1)?.id ?? 0;
  const beyond = String(last + 1);
  for (const argv of [[beyond], [beyond, '--follow', '--format', 'ndjson'], [beyond, '--field', 'status']]) {
    const { exitCode, stderr } = await program.run('changes', '--since-id', ...argv);
    expect(exitCode).toBe(2);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `The mirror has no change ${beyond}: the newest is ${last}.`,
    );
  }
});

test('the changes command says of a mirror without changes that a backup may still be restored', async () => {
  const program = await newProgram({ inboxes: 0 });
  await program.run('sync');
  const { exitCode, stderr } = await program.run('changes', '--since-id', '1310');
  expect([exitCode, stderr.replaceAll(/\s+/g, ' ')]).toEqual([
    2,
    expect.stringMatching(
      /no change 1310: the newest is 0\..* If a backup is being restored now, wait for its end instead, and use/,
    ),
  ]);
});

test('after a restored backup the changes command refuses a lost cursor, also once its id is used again', async () => {
  const program = await withHistory();
  const file = mirrorFile(program);
  const known = (await linesOf(program)).at(-1);
  copyFileSync(file, `${file}.backup`);
  program.sandbox.applyEvents(25);
  await program.run('sync');
  const lost = (await linesOf(program)).at(-1);
  expect(lost?.cursor).toMatch(new RegExp(`^${String(lost?.id)}-[0-9a-f]{12}$`));
  for (const side of ['-wal', '-shm']) rmSync(`${file}${side}`, { force: true });
  renameSync(`${file}.backup`, file);
  program.sandbox.applyEvents(80);
  await program.run('sync');
  expect((await linesOf(program)).at(-1)?.id).toBeGreaterThan(lost?.id ?? 0);

  const { exitCode, stderr, stdout } = await program.run('changes', '--since-id', String(lost?.cursor));
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(
    /read on after \d+-[0-9a-f]{12}; or read all changes after 0/,
  );
  const again = await linesOf(program, '--since-id', String(known?.cursor));
  expect(again[0]?.id).toBe((known?.id ?? 0) + 1);
});

test('doctor --new-epoch makes the changes command refuse the cursors of later changes', async () => {
  const program = await withHistory();
  const file = mirrorFile(program);
  const known = (await linesOf(program)).at(-1);
  const { stdout } = await program.run('doctor', '--new-epoch');
  expect(stdout).toMatch(new RegExp(`feed +epoch [0-9a-f]{12} begins after change ${String(known?.id)}`));
  const declared = new DatabaseSync(file);
  const [epoch] = declared.prepare('SELECT epoch FROM epochs ORDER BY after_id DESC LIMIT 1').all();
  // The same writer could go on in a machine that was set back with its memory: its changes get the new epoch.
  declared.exec(
    `INSERT INTO changes (observed_at, list, item_id, field) VALUES ('2026-03-02T08:00:00.000+00:00', 'tags', '1', 'name')`,
  );
  declared.close();
  expect((await linesOf(program, '--since-id', String(known?.cursor))).map(({ cursor }) => cursor)).toEqual([
    `${(known?.id ?? 0) + 1}-${String(epoch?.['epoch'])}`,
  ]);
});

test('before the first sync the changes command exits 2 and reports that there is no mirror', async () => {
  const program = await newProgram();
  const { exitCode, stderr } = await program.run('changes');
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('no mirror')]);
});

test('a consumer that is killed and resumes after its last id gets each change exactly once', async () => {
  const program = await testProgram({ inboxes: 2, conversations: 40 });
  await program.run('sync');
  const seen: number[] = [];
  const env = { PATH: process.env['PATH'], ...program.env, LOG_LEVEL: 'silent' };
  const consume = async (until: (ids: readonly number[]) => boolean): Promise<void> => {
    const args = [BIN, 'changes', '--follow', '--format', 'ndjson', '--since-id', String(seen.at(-1) ?? 0)];
    const child = spawn(process.execPath, args, {
      cwd: program.folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    for await (const line of createInterface({ input: child.stdout })) {
      seen.push((JSON.parse(line) as Line).id);
      if (until(seen)) break;
    }
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  };
  const write = async (): Promise<void> => {
    program.sandbox.applyEvents(60);
    expect((await program.run('sync')).exitCode).toBe(0);
  };
  await write();
  for (const stop of [5, 17, 60, 61, 120]) {
    const writing: Promise<void>[] = [];
    // A pass writes while the consumer reads.
    await consume((ids) => {
      if (writing.length === 0) writing.push(write());
      return ids.length >= stop;
    });
    await Promise.all(writing);
  }
  const all = (await linesOf(program)).map(({ id }) => id);
  await consume((ids) => ids.length >= all.length);
  expect(seen).toEqual(all);
});

const NAMED = { old_name: null, new_name: null };

test('changes name inbox, person, tag and conversation beside their ids, in every format', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 10 });
  const [inbox] = program.sandbox.world.inboxes.values();
  const [conversation, other] = inbox?.conversations.values() ?? [];
  const [user, colleague] = inbox?.users.values() ?? [];
  const [tag] = inbox?.tags.values() ?? [];
  if (!inbox || !conversation || !other || !user || !colleague || !tag)
    throw new Error('the sandbox is empty');
  conversation.assignee = { assignee_type: 'user', assignee_id: user.id };
  conversation.tag_ids = [];
  other.assignee = null;
  await program.run('sync');
  conversation.assignee = { assignee_type: 'user', assignee_id: colleague.id };
  conversation.tag_ids = [tag.id];
  tag.color_code = '#000000';
  other.assignee = { assignee_type: 'user', assignee_id: user.id };
  await program.run('sync');
  const { stdout } = await program.run('changes', '--format', 'ndjson');
  const changes = new Map(parseLines<Record<string, unknown>>(stdout).map((line) => [line['field'], line]));
  const nameOf = (person: typeof user): string => `${person.first_name} ${person.last_name}`;
  const { permalink } = changes.get('tags') ?? {};
  expect(permalink).toMatch(/^https:/);
  const common = { inbox: inbox.display_name, item: null, permalink };
  expect(changes.get('assignee_type')).toMatchObject({ item_id: other.id, new_value: 'user' });
  const ofOne = parseLines<Record<string, unknown>>(stdout).filter(({ item_id }) => item_id !== other.id);
  expect(ofOne.find(({ field }) => field === 'assignee_id')).toMatchObject({
    ...common,
    old_name: nameOf(user),
    new_name: nameOf(colleague),
  });
  expect(changes.get('tags')).toMatchObject({ ...common, ...NAMED, new_name: tag.name });
  expect(changes.get('color_code')).toMatchObject({ item: tag.name, ...NAMED, permalink: null });
  const table = (await program.run('changes')).stdout;
  expect(table).toContain(`conversation ${conversation.id}`);
  expect(table).toContain(`(none) → ${nameOf(user)} (${user.id})`);
  expect(table, 'the assignee says as much').not.toContain('assignee_type');
  expect(table).toContain(`${nameOf(user)} (${user.id}) → ${nameOf(colleague)} (${colleague.id})`);
  expect(table).toContain(`(none) → ${tag.name} (${tag.id})`);
  expect(table).toContain(`tag ${tag.name} (${tag.id})`);
  const shown = await runOnTerminal(program, 200, 'changes');
  expect(shown).toContain(`;${String(permalink)}\u0007conversation ${conversation.id}`);
  // One wide change is wrapped in its column; the others keep one line each.
  await program.run('sync');
  const narrower = (await renderOnTerminal(program, 116, 'changes')).trimEnd().split('\n');
  expect(narrower[0]).toMatch(/^ *id {2}seen \(UTC\) +inbox +item +field +change$/);
  const at = narrower[0]?.indexOf('change') ?? 0;
  const wide = narrower.findIndex((line) => line.includes(`${nameOf(user)} (${user.id}) →`));
  expect(narrower[wide + 1]).toMatch(new RegExp(`^ {${at}}\\S`));
  for (const line of narrower) expect(line.length, line).toBeLessThanOrEqual(116);
  expect(narrower.filter((line) => /^ *\d+ {2}/.test(line))).toHaveLength(narrower.length - 2);
});

test('changes say what a new and a returned conversation were seen with, by names', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 25 });
  const { world } = program.sandbox;
  const [inbox] = world.inboxes.values();
  const [user] = inbox?.users.values() ?? [];
  const [tag, other] = inbox?.tags.values() ?? [];
  if (!inbox || !user || !tag || !other) throw new Error('the sandbox is empty');
  await program.run('sync');
  const [returning = ''] = inbox.conversations.order;
  const row = world.removeConversation(inbox.id, returning);
  const { id: added } = world.addConversation(inbox.id, { status: 'pending', assignee: null, tag_ids: [] });
  const colleague = world.addUser(inbox.id, { email: 'new@example.com' });
  await program.run('sync');
  await program.run('sync');
  world.restoreConversation(inbox.id, returning);
  const assignee = { assignee_type: 'user', assignee_id: user.id };
  Object.assign(row, { status: 'open', assignee, tag_ids: [tag.id, other.id] });
  await program.run('sync');
  const name = `${user.first_name} ${user.last_name}`;
  const tags = [tag, other].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const table = (await program.run('changes', '--field', 'presence')).stdout;
  expect(table).toMatch(new RegExp(`conversation ${added} +presence +first seen: pending, unassigned\n`));
  expect(table).toContain(
    `is back: open, assigned to ${name}, tags ${tags.map((one) => one.name).join(', ')}\n`,
  );
  expect(table).toContain('first seen: new@example.com\n');
  expect(table).toMatch(new RegExp(`conversation ${returning} +presence +is gone from the service\n`));
  const { stdout } = await program.run('changes', '--field', 'presence', '--format', 'ndjson');
  const lines = parseLines<Record<string, unknown>>(stdout);
  expect(lines.at(-1)).toMatchObject({
    item_id: returning,
    item_values: { status: 'open', assignee_id: user.id, tags: tags.map(({ id }) => id) },
    item_names: { assignee_id: name, tags: tags.map((one) => one.name) },
  });
  expect(lines.find(({ item_id }) => item_id === colleague.id)).toMatchObject({
    item_values: { email: 'new@example.com', is_joined: String(colleague.is_joined) },
    item_names: null,
  });
  const csv = (await program.run('changes', '--field', 'presence', '--format', 'csv')).stdout;
  expect(csv.split('\n').find((line) => line.includes(added))).toContain('{""status"":""pending""');
});

test('--inbox takes a name in any case, and says which inboxes fit or are near', async () => {
  const program = await testProgram({ inboxes: 3, conversations: 5 });
  await program.run('sync');
  const [support, billing, third] = program.sandbox.world.inboxes.values();
  program.sandbox.applyEvents(20);
  expect((await program.run('sync', '--inbox', 'support')).stderr).toContain('4 of 4 lists complete');
  const byName = await linesOf(program, '--inbox', 'Support');
  expect(byName.length).toBeGreaterThan(0);
  expect(byName).toEqual(await linesOf(program, '--inbox', support?.id ?? ''));
  const near = await program.run('changes', '--inbox', 'Suport');
  expect([near.exitCode, near.stderr]).toEqual([
    2,
    expect.stringContaining(`no inbox "Suport". Perhaps: Support (${support?.id}).`),
  ]);
  if (third !== undefined) third.display_name = 'Support';
  await program.run('sync', 'inboxes');
  for (const command of ['sync', 'resync', 'changes']) {
    const { exitCode, stderr } = await program.run(command, '--inbox', 'Support');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`${support?.id}, ${third?.id}. Give`)]);
  }
  const lookup = await program.run('lookup', 'tag', '--inbox', 'billing', '--name', 'Refund');
  expect(lookup.exitCode).toBe(0);
  expect(program.sandbox.arrivals.at(-1)?.path).toContain(`/inboxes/${billing?.id}/tags`);
});

test('changes refuses an inbox and an item that the mirror has never had', async () => {
  const program = await withHistory();
  for (const [option, expected] of [
    ['--inbox', 'the mirror has no inbox "999". It has: Support (20117)'],
    ['--item', 'the mirror has no conversation, tag, user or inbox with the id "999"'],
  ] as const) {
    const { exitCode, stderr } = await program.run('changes', option, '999');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(expected)]);
  }
  const [first] = await linesOf(program, '--list', 'conversations');
  expect(await linesOf(program, '--item', String(first?.item_id))).toContainEqual(first);
});

test('--since and --until take words and lengths of time', async () => {
  const program = await withHistory();
  const all = await linesOf(program);
  for (const since of ['yesterday', '3days', '2 hours', '1week'])
    expect(await linesOf(program, '--since', since)).toEqual(all);
  const middle = String(all[Math.floor(all.length / 2)]?.observed_at);
  expect(await linesOf(program, '--since', '1d', '--until', middle)).toEqual(
    all.filter(({ observed_at }) => observed_at < middle),
  );
  expect(await linesOf(program, '--until', 'yesterday')).toEqual([]);
});

test('a followed table begins with its titles, and later changes keep to the columns', async () => {
  const program = await withHistory();
  const output: string[] = [];
  const stop = new AbortController();
  const write = (text: string): void => {
    output.push(text);
    if (output.length === 2) stop.abort();
  };
  const io = {
    env: program.env,
    cwd: program.folder,
    stdout: { write },
    stderr: { write: () => undefined },
    signal: stop.signal,
  };
  const following = runProgram(['changes', '--follow', '--since-id', '0'], io, '0.0.0-test');
  expect(await following).toBe(130);
  const [titles = '', ...rows] = output.join('').trimEnd().split('\n');
  expect(output[0]).toBe(`${titles}\n`);
  expect(titles).toMatch(/^ {4}id {2}seen \(UTC\) {11}inbox +item +field +change$/);
  const column = titles.indexOf('field');
  const fields = new Set((await linesOf(program)).map(({ field }) => field));
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) expect(fields).toContain(row.slice(column).split(' ')[0]);
});

test.each([
  { backup: 'has', next: 0 },
  { backup: 'lacks', next: 2 },
])(
  'if its file is replaced, changes --follow ends with 1; then with $next if the new file $backup its change',
  async ({ backup, next }) => {
    const program = await withHistory();
    const file = mirrorFile(program);
    if (backup === 'lacks') copyFileSync(file, `${file}.backup`);
    program.sandbox.applyEvents(25);
    await program.run('sync');
    if (backup === 'has') copyFileSync(file, `${file}.backup`);
    const last = (await linesOf(program)).at(-1)!.cursor;
    const [output, errors]: [string[], string[]] = [[], []];
    const io = {
      env: program.env,
      cwd: program.folder,
      stdout: { write: (text: string) => output.push(text) },
      stderr: { write: (text: string) => errors.push(text) },
      signal: AbortSignal.timeout(8000),
    };
    const argv = ['changes', '--follow', '--since-id', '0', '--format', 'ndjson'];
    const following = runProgram(argv, io, '0.0.0-test');
    await expect.poll(() => output.join('')).toContain(`"${last}"`);
    for (const side of ['-wal', '-shm']) rmSync(`${file}${side}`, { force: true });
    renameSync(`${file}.backup`, file);
    expect(await following).toBe(1);
    expect(errors.join('')).toMatch(/was deleted, or replaced by another one.*give it the last cursor/);
    expect((await program.run('changes', '--since-id', last)).exitCode).toBe(next);
  },
);
