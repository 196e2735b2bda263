import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../../src');

/** The files that `main.ts` loads before a command runs, below `src/`. */
function loadedAtStart(): Set<string> {
  const loaded = new Set<string>();
  const visit = (path: string): void => {
    const name = relative(source, path);
    if (loaded.has(name)) return;
    loaded.add(name);
    const text = readFileSync(path, 'utf8');
    for (const [, specifier = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\..+?)';$/gm))
      visit(join(dirname(path), specifier));
  };
  visit(join(source, 'cli/main.ts'));
  return loaded;
}

test('--help loads the commands, core/, the terminal, the version and the options of the sandbox, nothing else', () => {
  const loaded = loadedAtStart();
  expect(loaded).toContain('cli/commands/start.ts');
  const others = [...loaded].filter((name) => !/^(cli\/[^/]+|cli\/commands\/.+|core\/.+)$/.test(name));
  expect(others.toSorted()).toEqual(['sandbox/options.ts', 'session/terminal.ts', 'session/version.ts']);
});
