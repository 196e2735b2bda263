import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const ROOMS = [
  'cli',
  'assistant',
  'export',
  'library',
  'daemon',
  'web',
  'status',
  'session',
  'sync',
  'service',
  'mirror',
  'database',
  'query',
  'sandbox',
];

/** The rooms that the files of a folder may import, `core/` aside (ARCHITECTURE.md). */
const MAY_IMPORT: Record<string, string[]> = {
  core: [],
  database: [],
  service: [],
  sandbox: [],
  mirror: ['database'],
  'mirror/gate': ['database'],
  query: ['database'],
  'query/sqlite': ['database'],
  sync: ['service', 'mirror'],
  'sync/planning': ['mirror'],
  session: ['service', 'mirror', 'query', 'database', 'sync'],
  status: ['session', 'sync', 'mirror'],
  web: ['status', 'session', 'export', 'mirror', 'query'],
  'web/overview': ['status', 'session', 'export', 'mirror', 'query'],
  daemon: ['web', 'status', 'session', 'sync', 'mirror'],
  'daemon/http': ['web', 'status', 'session', 'sync', 'mirror'],
  library: ['session', 'sync', 'mirror', 'query', 'database'],
  'library/pass': ['session', 'sync', 'mirror', 'query', 'database'],
  assistant: ['query', 'mirror'],
  export: ['query', 'mirror'],
  cli: ['assistant', 'export', 'library', 'status', 'session', 'sync', 'mirror', 'query', 'sandbox'],
  'cli/pass': ['assistant', 'export', 'library', 'status', 'session', 'sync', 'mirror', 'query', 'sandbox'],
};

/** The file of each room that every room above it may import from. */
const FACES: Record<string, string> = {
  mirror: 'mirror.ts',
  export: 'answer.ts',
  sync: 'planning/agenda.ts',
};

interface Planted {
  /** Below `src/`. */
  readonly folder: string;
  /** As it is written from the top of a room; folders inside a room get one more `../`. */
  readonly specifier: string;
  readonly typeOnly?: boolean;
  readonly file?: string;
}

const nameOf = ({ folder, specifier, typeOnly, file }: Planted): string =>
  `${folder}/${file ?? ''} ${typeOnly ? 'types of ' : ''}${specifier}`;

const crossings = Object.entries(MAY_IMPORT).flatMap(([folder, allowed]) =>
  ROOMS.filter((room) => room !== folder.split('/')[0]).map((room) => ({
    planted: {
      folder,
      specifier: `../${room}/${FACES[room] ?? 'planted.ts'}`,
      typeOnly: folder === 'session' && room === 'sync',
    },
    isAllowed: allowed.includes(room),
  })),
);

const FORBIDDEN: Planted[] = [
  ...crossings.filter(({ isAllowed }) => !isAllowed).map(({ planted }) => planted),
  ...Object.keys(MAY_IMPORT).map((folder) => ({ folder, specifier: '../cli/main.ts' })),
  ...[
    'service',
    'mirror',
    'query',
    'sync',
    'session',
    'status',
    'web',
    'daemon',
    'library',
    'assistant',
    'export',
    'cli',
    'sandbox',
    'core',
  ].map((folder) => ({
    folder,
    specifier: '@prisma/client',
  })),
  ...[
    'core',
    'service',
    'mirror',
    'sync',
    'session',
    'status',
    'web',
    'daemon',
    'library',
    'assistant',
    'export',
    'cli',
    'sandbox',
  ].flatMap((folder) => ['pg', 'better-sqlite3'].map((specifier) => ({ folder, specifier }))),
  ...['mirror', 'query', 'session'].map((folder) => ({
    folder,
    specifier: '../database/generated/sqlite/client.ts',
  })),
  ...['sync', 'sync/planning', 'session', 'status', 'web', 'daemon', 'assistant', 'export', 'cli'].flatMap(
    (folder) =>
      ['../mirror/lease.ts', '../mirror/gate/ledger.ts'].map((specifier) => ({ folder, specifier })),
  ),
  { folder: 'session', specifier: '../sync/events.ts' },
  { folder: 'session', specifier: '../sync/pass.ts', typeOnly: true },
  { folder: 'status', specifier: '../sync/pass.ts' },
  { folder: 'web', specifier: '../export/export.ts' },
  { folder: 'web', specifier: '../export/parquet.ts' },
  { folder: 'cli/commands', specifier: '../daemon/standby.ts' },
  { folder: 'cli/commands', file: 'start.ts', specifier: '../service/client.ts' },
];

const ALLOWED: Planted[] = [
  ...crossings
    .filter(({ isAllowed }) => isAllowed)
    .map(({ planted }) =>
      planted.folder === 'session' && planted.typeOnly
        ? { ...planted, specifier: '../sync/events.ts' }
        : planted,
    ),
  ...Object.keys(MAY_IMPORT)
    .filter((folder) => folder !== 'core')
    .map((folder) => ({ folder, specifier: '../core/lists.ts' })),
  ...['sync', 'session', 'status', 'web', 'daemon', 'assistant', 'export', 'cli'].map((folder) => ({
    folder,
    specifier: '../mirror/gate/ledger.ts',
    typeOnly: true,
  })),
  { folder: 'core', specifier: './lists.ts' },
  { folder: 'database', specifier: '@prisma/client' },
  { folder: 'database', specifier: './generated/sqlite/client.ts' },
  { folder: 'database', specifier: 'pg' },
  { folder: 'query', specifier: 'better-sqlite3' },
  { folder: 'cli/commands', file: 'start.ts', specifier: '../daemon/standby.ts' },
];

/** The names of those planted imports that the project's own lint rules refuse. */
async function refused(all: readonly Planted[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-rooms-'));
  cpSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
  const files = new Map<string, Planted>();
  for (const [index, planted] of all.entries()) {
    const path = `src/${planted.folder}/${planted.file ?? `planted-${index}.ts`}`;
    const up = '../'.repeat(planted.folder.split('/').length - 1);
    const specifier = planted.specifier.startsWith('../') ? up + planted.specifier : planted.specifier;
    const type = planted.typeOnly ? 'type ' : '';
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(
      join(folder, path),
      `import ${type}{ Planted } from '${specifier}';\nexport ${type}{ Planted };\n`,
    );
    files.set(path, planted);
  }
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
  const { stdout } = await promisify(execFile)(process.execPath, [oxlint, '--format', 'unix', '.'], {
    cwd: folder,
  }).catch((error: { stdout: string }) => ({ stdout: error.stdout }));
  const found = new Set<Planted>();
  for (const line of stdout.split('\n').filter((text) => text.includes('no-restricted-imports'))) {
    const planted = files.get(line.replace(/:.*/, ''));
    if (planted !== undefined) found.add(planted);
  }
  rmSync(folder, { recursive: true });
  return [...found].map(nameOf);
}

describe('the lint rules', () => {
  let findings: string[] = [];
  beforeAll(async () => {
    const [start, others] = [
      [...FORBIDDEN, ...ALLOWED].filter(({ file }) => file !== undefined),
      [...FORBIDDEN, ...ALLOWED].filter(({ file }) => file === undefined),
    ];
    // Files of one name need a tree each.
    findings = [await refused(others), ...(await Promise.all(start.map((one) => refused([one]))))].flat();
  });

  test.each(FORBIDDEN.map(nameOf))('refuse the import: %s', (name) => {
    expect(findings).toContain(name);
  });

  test.each(ALLOWED.map(nameOf))('let pass the import: %s', (name) => {
    expect(findings).not.toContain(name);
  });
});

describe('the house', () => {
  const sources = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.includes('/generated/'));
  const linesOf = (file: string): string[] => readFileSync(join(root, file), 'utf8').split('\n');

  test('has at most 12 entries in a folder of src/, its README aside', () => {
    // src/ holds the rooms, each of which has a line in ARCHITECTURE.md.
    const most: Record<string, number> = { src: 15 };
    const entries = new Map<string, Set<string>>();
    for (const file of sources)
      for (let path = file; path !== 'src'; path = dirname(path))
        entries.set(dirname(path), (entries.get(dirname(path)) ?? new Set()).add(path));
    const wide = [...entries].filter(([folder, { size }]) => size > (most[folder] ?? 12));
    expect(wide.map(([folder, { size }]) => `${folder}: ${size}`)).toEqual([]);
    expect(entries.size).toBeGreaterThan(20);
  });

  test('has no line of source code over 110 characters', () => {
    const long = sources.flatMap((file) =>
      linesOf(file).flatMap((line, index) => (line.length > 110 ? [`${file}:${index + 1}`] : [])),
    );
    expect(long).toEqual([]);
  });

  test('has no constant whose comment says "so many" in place of the figure', () => {
    const vague = sources.filter((file) =>
      /^ *\/\*\* .*\bso (many|much)\b.*\*\/\n *(export )?const /im.test(linesOf(file).join('\n')),
    );
    expect(vague).toEqual([]);
  });

  test('has no line of documents over 110 characters, tables, code and what has no space aside', () => {
    const documents = globSync('{*,{docs,bench,src,deploy}/**/*}.md', { cwd: root });
    expect(documents.length).toBeGreaterThan(50);
    const long = documents.flatMap((file) => {
      // Fenced code keeps its lines, so that the numbers stay right.
      const text = readFileSync(join(root, file), 'utf8').replaceAll(/^ *```.*?^ *```$/gms, (code) =>
        code.replaceAll(/.+/g, ''),
      );
      return text
        .split('\n')
        .flatMap((line, index) =>
          line.length > 110 && !line.startsWith('|') && /\S \S/.test(line.replace(/^ *([-*]|\d+\.) /, ''))
            ? [`${file}:${index + 1}`]
            : [],
        );
    });
    expect(long).toEqual([]);
  });

  test('has SQL text in database/, mirror/ and query/ only', () => {
    const sql = /[`'"]\s*(SELECT\s|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE (TABLE|VIEW|INDEX))/;
    const strangers = sources.filter(
      (file) => !/^src\/(database|mirror|query)\//.test(file) && linesOf(file).some((line) => sql.test(line)),
    );
    // The demo runs what a person would ask, and two texts show a person what to ask.
    const examples = [
      'src/cli/commands/demo.ts',
      'src/cli/commands/read/query.ts',
      'src/cli/pass/outcome.ts',
    ];
    expect(strangers.toSorted()).toEqual(examples);
  });

  test('has a README of at most 25 lines in each room that has folders', () => {
    const rooms = new Set(
      globSync('src/*/*/*.ts', { cwd: root }).map((file) => file.split('/').slice(0, 2).join('/')),
    );
    expect(rooms.size).toBeGreaterThan(7);
    for (const room of rooms) expect(linesOf(`${room}/README.md`).length, room).toBeLessThanOrEqual(26);
  });
});
