import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { SCRATCH } from './scratch.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of a migrated, empty mirror for tests to copy: a migration takes a third of a second. */
    templateFile: string;
  }
}

export default function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(SCRATCH, 'inbox-mirror-template-'));
  const path = join(folder, 'mirror.db');
  // In a separate process, because vitest's module runner cannot load the schema engine.
  execFileSync(process.execPath, [join(import.meta.dirname, 'child-sync.ts'), 'open-only', `file:${path}`]);
  provide('templateFile', path);
  return () => rmSync(folder, { recursive: true, force: true });
}
