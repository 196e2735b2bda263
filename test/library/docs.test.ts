import { Console } from 'node:console';
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { PrismaPg } from '@prisma/adapter-pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PrismaClient } from '../../src/database/generated/postgresql/client.ts';
import { openMirror, type OpenedMirror } from '../../src/library/library.ts';
import { newPlace, temporaryDatabase } from '../support/mirror.ts';
import { ON_SQLITE, onServer, urlOf } from '../support/provider.ts';
import { asRole } from '../support/roles.ts';
import { livelyWeek } from '../views/lively.ts';
import { ask } from '../views/support.ts';

const FILE = join(import.meta.dirname, '../../docs/prisma.md');
const OWN_CLIENT = /^```ts\nimport \{ PrismaPg \}.*\nimport .*\n([\s\S]*?)```$/m;
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

describe.skipIf(ON_SQLITE)('beside a mirror in public, a person’s own client', () => {
  test('that is made as docs/prisma.md says reads the mirror in its schema', async () => {
    const place = await twoMirrors();
    const name = new URL(place).pathname.slice(1);
    await onServer(`ALTER DATABASE ${name} SET TimeZone = 'Asia/Kolkata'`);
    await onServer(`ALTER DATABASE ${name} SET DateStyle = 'SQL, DMY'`);
    const client = await documentedClient(`${place}?schema=Sales`);
    expect(await client.changes.findMany({ select: { item_id: true, observed_at: true } })).toEqual([SALES]);
    expect(await client.$queryRaw`SELECT item_id, observed_at FROM changes`).toEqual([SALES]);
    expect(await client.backlog_now.count()).toBe(0);
  });

  test('that names its schema for models only, or for SQL only, reads the other one', async () => {
    const connectionString = await twoMirrors();
    const ofModels = clientWith(new PrismaPg({ connectionString }, { schema: 'Sales' }));
    const ofSql = clientWith(new PrismaPg({ connectionString, options: '-c search_path="Sales"' }));
    const select = { item_id: true };
    expect(await ofModels.changes.findMany({ select })).toEqual([{ item_id: 'Sales' }]);
    expect(await ofModels.$queryRaw`SELECT item_id FROM changes`).toEqual([{ item_id: 'public' }]);
    expect(await ofSql.changes.findMany({ select })).toEqual([{ item_id: 'public' }]);
    expect(await ofSql.$queryRaw`SELECT item_id FROM changes`).toEqual([{ item_id: 'Sales' }]);
  });

  test('gets an error from the other one if its role may not read it', async () => {
    const connectionString = await asRole(
      await twoMirrors(),
      'GRANT USAGE ON SCHEMA "Sales" TO me; GRANT SELECT ON ALL TABLES IN SCHEMA "Sales" TO me',
    );
    const client = await documentedClient(`${connectionString}?schema=Sales`);
    expect(await client.changes.count()).toBe(1);
    const forgetful = clientWith(new PrismaPg({ connectionString }));
    await expect(forgetful.changes.count()).rejects.toThrow('permission denied');
    await expect(forgetful.$queryRaw`SELECT item_id FROM changes`).rejects.toThrow('permission denied');
  });
});

/** The one change of the mirror in the schema `Sales`. */
const SALES = { item_id: 'Sales', observed_at: new Date('2026-03-02T08:00:00.001Z') };

/** A database with a mirror in `public` and one in `Sales`. Each has one change, of an item with its name. */
async function twoMirrors(): Promise<string> {
  const place = await newPlace();
  for (const schema of ['public', SALES.item_id]) {
    const mirror = await temporaryDatabase(`${place}?schema=${schema}`);
    await mirror.execute(
      `INSERT INTO changes (observed_at, list, item_id, field) VALUES ($1, 'tags', $2, 'name')`,
      SALES.observed_at.toISOString(),
      schema,
    );
  }
  return place;
}

/** The client that docs/prisma.md makes for PostgreSQL, with this DATABASE_URL. */
async function documentedClient(address: string): Promise<PrismaClient> {
  const [, code = ''] = OWN_CLIENT.exec(readFileSync(FILE, 'utf8')) ?? [];
  const clients: PrismaClient[] = [];
  await runCode(`${code}clients.push(prisma);`, {
    PrismaPg,
    PrismaClient,
    process: { env: { DATABASE_URL: address } },
    clients,
  });
  const [client] = clients;
  onTestFinished(() => client!.$disconnect());
  return client!;
}

function clientWith(adapter: PrismaPg): PrismaClient {
  const client = new PrismaClient({ adapter });
  onTestFinished(() => client.$disconnect());
  return client;
}

/** Runs a question and returns what it prints. */
async function outputOf(code: string, mirror: OpenedMirror): Promise<string> {
  const stream = new PassThrough({ encoding: 'utf8' });
  await runCode(code, { mirror, console: new Console({ stdout: stream, colorMode: false }) });
  return (stream.read() as string | null) ?? '';
}

/** Runs TypeScript that uses these names. */
async function runCode(code: string, names: Record<string, unknown>): Promise<void> {
  const AsyncFunction = (async () => undefined).constructor as new (
    ...words: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction(...Object.keys(names), stripTypeScriptTypes(code))(...Object.values(names));
}
