import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** One entry of npm's hidden lock file, `node_modules/.package-lock.json`. */
interface Installed {
  readonly version: string;
  readonly hasInstallScript?: boolean;
}

/** The project's own Node.js and, if there is another one, the machine's. */
function runtimes(): { name: string; node: string; runs: boolean }[] {
  const installed = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((path) => path !== '' && !path.includes('node_modules'))
    .map((path) => join(path, 'node'))
    .find((path) => existsSync(path));
  return [process.execPath, ...(installed === undefined ? [] : [installed])].map((node) => {
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
    const runs = major > 22 || (major === 22 && minor >= 18);
    return { name: `Node.js ${version}${node === process.execPath ? '' : " (the machine's)"}`, node, runs };
  });
}

/** When the newest of these files or folders was written, or the oldest, in ms. A folder counts as well. */
function writtenAt(pick: 'newest' | 'oldest', names: readonly string[]): number {
  const times = names.flatMap((name) => {
    const path = join(root, name);
    const inside = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: 'utf8' })
      : [];
    return [path, ...inside.map((one) => join(path, one))].map((one) => statSync(one).mtimeMs);
  });
  return pick === 'newest' ? Math.max(...times) : Math.min(...times);
}

/** The files and folders that a build reads. */
const BUILT_FROM = [
  'src',
  'prisma',
  'package.json',
  'rolldown.config.ts',
  'tsconfig.json',
  'tsconfig.types.json',
  'node_modules/.package-lock.json',
];

/** Whether `dist` is complete and newer than all that a build reads: a new build would be the same. */
function isBuilt(): boolean {
  // The types are written last.
  const isComplete = existsSync(join(root, 'dist/library/library.d.ts'));
  return isComplete && writtenAt('oldest', ['dist']) > writtenAt('newest', BUILT_FROM);
}

describe('the packed package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-package-'));
  const home = join(folder, 'home');
  let tarball = '';
  let demo = '';
  let installed: Record<string, Installed> = {};
  const program = (words: readonly string[], variables: NodeJS.ProcessEnv = {}) => {
    const bin = join(home, 'node_modules/inbox-mirror/bin/inbox-mirror.cjs');
    const env = { ...process.env, DATABASE_URL: 'file:demo.db', ...variables };
    return run(process.execPath, [bin, ...words], { cwd: home, env });
  };

  const inClone = (bin: string, ...words: string[]) =>
    run(process.execPath, [join(root, 'node_modules', bin), ...words], { cwd: home });

  beforeAll(async () => {
    mkdirSync(home);
    writeFileSync(join(home, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
    const words = isBuilt() ? ['--ignore-scripts'] : [];
    await run('npm', ['pack', ...words, '--pack-destination', folder], { cwd: root });
    tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
    // A package that npm has fetched before is not fetched again.
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], { cwd: home });
    demo = (await program(['demo'])).stdout;
    const lock = readFileSync(join(home, 'node_modules/.package-lock.json'), 'utf8');
    installed = (JSON.parse(lock) as { packages: Record<string, Installed> }).packages;
  }, 180_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('brings one SQLite, which is prebuilt', () => {
    const drivers = Object.entries(installed).filter(([path]) => /sqlite/.test(path));
    expect(drivers).toMatchObject([['node_modules/better-sqlite3', { version: /^13\./ }]]);
  });

  test('needs no install script', () => {
    const { scripts } = JSON.parse(
      readFileSync(join(home, 'node_modules/inbox-mirror/package.json'), 'utf8'),
    ) as { scripts: Record<string, string> };
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([]);
    // A build that is still true is packed as it is. `npm publish` makes it again.
    expect(scripts['prepack']).toBe('npm run build');
    expect(Object.entries(installed).filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  test('takes less than 90 MB on disk', () => {
    const files = readdirSync(join(home, 'node_modules'), { recursive: true, withFileTypes: true });
    const sizes = files
      .filter((file) => file.isFile())
      .map((file) => statSync(join(file.parentPath, file.name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(90_000_000);
  });

  test('ships the licence of each package in its build', () => {
    const vendor = join(home, 'node_modules/inbox-mirror/dist/vendor');
    const texts = readFileSync(join(vendor, 'LICENSES.txt'), 'utf8');
    const names = readdirSync(vendor).flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(vendor, name)).map((part) => `${name}/${part}`) : [name],
    );
    expect(names.length).toBeGreaterThan(5);
    for (const name of names.filter((one) => one !== 'LICENSES.txt'))
      expect(texts, name).toMatch(new RegExp(`^${name} \\d+\\.`, 'm'));
  });

  test("has the daemon's pages, with the files that they load", async () => {
    const dist = join(home, 'node_modules/inbox-mirror/dist');
    const pages = readdirSync(join(dist, 'web'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^pages\.js$|page\.js$/.test(name),
    );
    expect(pages.length).toBeGreaterThan(7);
    const code = `for (const page of ${JSON.stringify(pages)}) await import('${dist}/web/' + page);
      const { readAssets } = await import('${dist}/web/frame/assets.js');
      console.log(Object.values(await readAssets()).every(({ content }) => content.length > 100));`;
    writeFileSync(join(home, 'pages.js'), code);
    expect((await run(process.execPath, ['pages.js'], { cwd: home })).stdout).toBe('true\n');
  });

  // A build drops a call that it takes for one without effect, such as a decoding whose value is not used.
  test.each([
    [{ HTTPS_PROXY: 'http://user:100%@127.0.0.1:9' }, 'in which % is written as %25'],
    [{ DATABASE_URL: 'postgresql://user:100%@127.0.0.1:1/mirror' }, 'contains an invalid %-escape'],
    [{ DATABASE_URL: 'postgresql://user@127.0.0.1:1:2/mirror' }, 'is not an address'],
    [{ SCHEDULE_TIMEZONE: 'Nowhere/Never' }, 'expected a time zone'],
    [{ SCHEDULE_TAGS: '61 * * * *' }, 'SCHEDULE_TAGS: expected'],
  ])('refuses what the checks of its source refuse: %o', async (variables, fault) => {
    const service = { INBOX_API_URL: 'https://service.example/v1', INBOX_API_KEY: 'a-key-of-a-test' };
    await expect(program(['sync'], { ...service, ...variables })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining(fault) as unknown,
    });
  });

  // In `npm test` the strict project below finds the types, as Node.js resolves them.
  test('has types that resolve for every kind of ESM import', async () => {
    const { stdout } = await inClone('@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'esm-only');
    expect(stdout).toContain('🟢 (ESM)');
  });

  test('type-checks in a strict project, with every piece of TypeScript in the documents', async () => {
    const doc = ['README.md', 'docs/prisma.md']
      .map((name) => readFileSync(join(root, name), 'utf8'))
      .join('');
    const pieces = [...doc.matchAll(/^```ts\n([\s\S]*?)```$/gm)].map(([, code]) => code ?? '');
    // The pieces on a client of one's own need Prisma, which this project does not have.
    const checkable = pieces.filter((code) => !code.includes('PrismaClient'));
    expect([pieces.length, checkable.length]).toEqual([17, 15]);
    const files = checkable.map((code, nth) => {
      const file = `piece-${nth}.ts`;
      const opened = code.includes('openMirror(')
        ? code
        : `import { openMirror } from 'inbox-mirror';\nawait using mirror = await openMirror();\n${code}`;
      writeFileSync(join(home, file), opened);
      return file;
    });
    const wrong = `import { openMirror } from 'inbox-mirror';
      const { prisma } = await openMirror();
      // @ts-expect-error A client for reading has nothing that writes.
      await prisma.conversations.deleteMany();
      // @ts-expect-error There is no such column.
      await prisma.conversations.findMany({ where: { subject: 'x' } });
      const rows = await prisma.conversations.findMany({ include: { assignee: true } });
      // @ts-expect-error The assignee can be null.
      console.log(rows[0]?.assignee.first_name);
      export const since: Date | undefined = rows[0]?.changed_at;`;
    writeFileSync(join(home, 'wrong.ts'), wrong);
    const options = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
      module: 'nodenext',
      target: 'esnext',
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const project = { compilerOptions: options, files: [...files, 'wrong.ts'] };
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(project));
    await inClone('typescript/bin/tsc', '-p', home).catch(({ stdout }: { stdout: string }) =>
      expect.unreachable(stdout),
    );
  });

  test.each(runtimes())(
    'works on $name as program and library, or says that it is too old',
    async ({ node, runs }) => {
      const own = node === process.execPath;
      const file = own ? 'demo.db' : 'here.db';
      const env = { ...process.env, DATABASE_URL: `file:${file}` };
      const inPackage = async (...words: string[]): Promise<string> =>
        (await run(node, words, { cwd: home, env })).stdout;
      const bin = 'node_modules/inbox-mirror/bin/inbox-mirror.cjs';
      if (!runs) {
        await expect(inPackage(bin, 'demo')).rejects.toMatchObject({
          code: 2,
          stderr: expect.stringContaining('inbox-mirror needs Node.js 22.18 or newer') as unknown,
        });
        return;
      }
      const code = `import { openMirror } from 'inbox-mirror';
      const mirror = await openMirror();
      const { length } = await mirror.prisma.inboxes.findMany({ include: { conversations: { include: { tags: true } } } });
      let changes = 0;
      for await (const change of mirror.changes()) changes += change.id > 0 ? 1 : 0;
      const fresh = (await mirror.freshness()).every(({ state }) => state === 'fresh');
      console.log(JSON.stringify([length, changes > 0, fresh]));
      await mirror.close();`;
      writeFileSync(join(home, 'library.js'), code);

      const printed = own ? demo : await inPackage(bin, 'demo', '--database', file);
      expect(printed).toContain(`The copy is in ${file}.`);
      const sql = 'SELECT count(DISTINCT inbox_id) AS inboxes, count(*) > 100 AS filled FROM conversations';
      const rows = await inPackage(bin, 'query', sql, '--format', 'json');
      expect(JSON.parse(rows)).toEqual([{ inboxes: 3, filled: 1 }]);
      expect(JSON.parse(await inPackage('library.js'))).toEqual([3, true, true]);
    },
  );

  test("gives the Prisma CLI a schema, from which a user's own client reads the mirror", async () => {
    // The project gets Prisma. A copy of it with its 90 MB would cost a second.
    for (const name of ['prisma', '@prisma']) {
      rmSync(join(home, 'node_modules', name), { recursive: true, force: true });
      symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name));
    }
    // Prisma reads here how imports name their files.
    writeFileSync(
      join(home, 'tsconfig.json'),
      '{ "compilerOptions": { "allowImportingTsExtensions": true } }',
    );
    const config = join(home, 'node_modules/inbox-mirror/prisma.config.ts');
    const { bin } = JSON.parse(readFileSync(join(root, 'node_modules/prisma/package.json'), 'utf8')) as {
      bin: { prisma: string };
    };
    for (const address of ['file:demo.db', 'postgresql://user:word@127.0.0.1:1/mirror']) {
      const env = { ...process.env, DATABASE_URL: address };
      const prisma = (...words: string[]) =>
        run(process.execPath, [join(root, 'node_modules/prisma', bin.prisma), ...words, '--config', config], {
          cwd: home,
          env,
        });
      // To generate a client is to validate its schema.
      if (address.startsWith('file:')) await prisma('generate');
      else expect((await prisma('validate')).stdout).toContain('is valid');
    }
    const code = `import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
      import { PrismaClient } from './generated/inbox-mirror/client.ts';
      const prisma = new PrismaClient({ adapter: new PrismaBetterSqlite3({ url: 'file:./demo.db', readonly: true }) });
      console.log(await prisma.inboxes.count({ where: { users: { some: {} }, deleted_at: null } }));
      await prisma.$disconnect();`;
    writeFileSync(join(home, 'own.ts'), code);
    expect((await run(process.execPath, ['own.ts'], { cwd: home })).stdout).toBe('3\n');
  });
});
