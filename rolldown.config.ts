import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin, type RolldownOptions } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

/**
 * Prisma becomes part of the build, except for its schema engine. @prisma/adapter-better-sqlite3 would install an
 * older SQLite, which needs a download or a compiler, and @prisma/client is 72 MB, of which the mirror uses 10.
 */
const BUILT_IN = /^(@prisma\/(?!schema-engine-wasm)|postgres-array)/;

/** Ships the licences of the packages in the build. */
const licences: Plugin = {
  name: 'licences',
  generateBundle(_options, bundle) {
    const packages = Object.keys(bundle).flatMap(
      (file) => /^vendor\/((@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [],
    );
    const texts = [...new Set(packages)].sort().map((name) => {
      const folder = join(import.meta.dirname, 'node_modules', name);
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        version: string;
      };
      return `${name} ${version}\n\n${licenceText(folder)}`;
    });
    const source = texts.join(`\n${'-'.repeat(80)}\n\n`);
    this.emitFile({ type: 'asset', fileName: 'vendor/LICENSES.txt', source });
  },
};

function licenceText(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${folder} has no licence file`);
  return readFileSync(join(folder, file), 'utf8');
}

/** Ships the files that the daemon's pages load, beside the module that reads them. */
const assets: Plugin = {
  name: 'assets',
  generateBundle() {
    const folder = 'src/web/assets';
    for (const name of readdirSync(join(import.meta.dirname, folder)))
      this.emitFile({
        type: 'asset',
        fileName: `web/assets/${name}`,
        source: readFileSync(join(import.meta.dirname, folder, name)),
      });
  },
};

/** The program and the library: each module a file. */
const modules: RolldownOptions = {
  input: [
    'src/cli/main.ts',
    'src/library/library.ts',
    'src/query/sqlite/worker.ts',
    'src/export/worker.ts',
    'src/query/reads/reader-process.ts',
  ],
  platform: 'node',
  external: (id) => !/^[./]/.test(id) && !BUILT_IN.test(id),
  plugins: [licences, assets],
  output: {
    dir: 'dist',
    format: 'esm',
    preserveModules: true,
    preserveModulesRoot: 'src',
    // npm never packs a folder of the name node_modules.
    entryFileNames: ({ name }) => `${name.replaceAll('node_modules/', 'vendor/')}.js`,
    cleanDir: true,
  },
};

/** The library's types in one file, Prisma's included: its users install no Prisma. */
const types: RolldownOptions = {
  input: 'src/library/library.ts',
  external: /^node:/,
  // Otherwise the file begins with an import of each Node module that some type's file imports.
  treeshake: { moduleSideEffects: false },
  // Only the library's files: the types of all tests would cost a third more.
  plugins: [dts({ emitDtsOnly: true, tsconfig: 'tsconfig.types.json' })],
  output: { dir: 'dist/library', format: 'esm' },
};

export default defineConfig([modules, types]);
