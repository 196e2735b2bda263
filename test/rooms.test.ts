import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from './support/mirror.ts';

const root = join(import.meta.dirname, '..');

/** Lints a file of the project's own rules in a place of its own. */
async function lint(file: string, source: string): Promise<string> {
  const folder = temporaryFolder();
  cpSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), source);
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
  const { stdout } = await promisify(execFile)(process.execPath, [oxlint, '--format', 'unix', file], {
    cwd: folder,
  }).catch((error: { stdout: string }) => ({ stdout: error.stdout }));
  return stdout;
}

const FORBIDDEN: [room: string, imports: string[]][] = [
  [
    'core',
    [
      '../store/store.ts',
      '../service/client.ts',
      '../sync/pass.ts',
      '../cli/program.ts',
      '../sandbox/sandbox.ts',
      '../config.ts',
    ],
  ],
  [
    'service',
    [
      '../store/store.ts',
      '../sync/pass.ts',
      '../cli/program.ts',
      '../sandbox/sandbox.ts',
      '../config.ts',
      '../log.ts',
      '@prisma/client',
    ],
  ],
  [
    'store',
    ['../service/client.ts', '../sync/pass.ts', '../cli/program.ts', '../sandbox/sandbox.ts', '../config.ts'],
  ],
  [
    'sandbox',
    [
      '../service/client.ts',
      '../store/store.ts',
      '../sync/pass.ts',
      '../cli/program.ts',
      '../config.ts',
      '@prisma/client',
    ],
  ],
  [
    'sync',
    [
      '../cli/program.ts',
      '../daemon/daemon.ts',
      '../sandbox/sandbox.ts',
      '../config.ts',
      '../generated/sqlite/client.ts',
      '@prisma/client',
    ],
  ],
  ['daemon', ['../main.ts', '../cli/program.ts', '../generated/sqlite/client.ts', '@prisma/client']],
  ['cli', ['../main.ts', '../generated/sqlite/client.ts', '@prisma/client']],
];

test.each(FORBIDDEN.flatMap(([room, imports]) => imports.map((path) => [room, path] as const)))(
  '%s/ may not import %s',
  async (room, path) => {
    const output = await lint(
      `src/${room}/planted.ts`,
      `import { planted } from '${path}';\nexport const used = planted;\n`,
    );
    expect(output).toContain('no-restricted-imports');
  },
);

const ALLOWED = [
  ['service', '../core/lists.ts'],
  ['store', '../core/lists.ts'],
  ['store', '../generated/sqlite/client.ts'],
  ['store', '@prisma/client'],
  ['sync', '../store/store.ts'],
  ['sync', '../service/client.ts'],
  ['daemon', '../sync/pass.ts'],
  ['cli', '../sync/pass.ts'],
  ['cli', '../store/status.ts'],
  ['core', './lists.ts'],
] as const;

test.each(ALLOWED)('%s/ may import %s', async (room, path) => {
  const output = await lint(
    `src/${room}/planted.ts`,
    `import { planted } from '${path}';\nexport const used = planted;\n`,
  );
  expect(output).not.toContain('no-restricted-imports');
});
