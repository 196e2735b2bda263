import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/**
 * The mirror's contract: these run on each database. The gate's other tests read its ledger through the same
 * few statements.
 */
const CONTRACT = [
  'test/mirror/{activity,counted-days,epochs,faults,housekeeping,id-ranges,intervals,lease,plans}.test.ts',
  'test/mirror/gate/{answers,budget-use,clock,refused-keys}.test.ts',
  'test/database/{long-tokens,newer-program,prisma-dates,releases,schema}.test.ts',
  'test/sync/{brake-histories,consent,crash,flaws,gone-inbox,history,older-copy,trust}.test.ts',
  'test/sync/pages/{bookmarks,histories,lacking,tokens,unreadable}.test.ts',
  'test/service/gate/{budget,hosts}.test.ts',
  'test/views/{docs,first-sights,freshness,lifecycle,property,types}.test.ts',
  'test/cli/flow.test.ts',
  'test/export/export.test.ts',
  'test/assistant/{assistant,hostile}.test.ts',
  'test/library/docs.test.ts',
  'test/daemon/http/changes.test.ts',
  'test/web/{engine,pages}.test.ts',
];
/**
 * Rules above the statements. On PostgreSQL they run in the soak: in `npm test` the properties of `trust`,
 * `pages`, `history` and the views, and the killed consumers of `flow`, drive the same statements there.
 */
const RULES = [
  'test/sync/{account,brake,equality,suspects,unreadable,walks,witnesses}.test.ts',
  'test/sync/{broken-lists,unlisted,unlisted-people,waiting}.days.test.ts',
  'test/sync/pages/held.test.ts',
  'test/service/gate/slowdown.test.ts',
  'test/views/{history,now,readers,settings}.test.ts',
  'test/library/library.test.ts',
  'test/web/{feed,items,orders,people}.test.ts',
  'test/daemon/webhook/{deliver,outcome,refused-alone}.test.ts',
];
const SOAK = 'test/**/*.soak.test.ts';
/** Daemons and commands that live through days of a test's clock: `npm run days` runs them. */
const DAYS = 'test/**/*.days.test.ts';

// The compile cache of `bin/inbox-mirror.cjs`, for the workers with their threads and child processes:
// compiling is half of a short process's work.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

const ON_SQLITE = ['test/**/*.test.ts'];
const ON_POSTGRESQL = [...CONTRACT, 'test/postgresql/*.test.ts'];

/**
 * `npm run soak` runs the properties, with more histories, and the tests that only it runs: `*.soak.test.ts`,
 * and each `rule` on PostgreSQL.
 */
function filesOf(patterns: readonly string[], isSoak: boolean): string[] {
  if (!isSoak) return [...patterns];
  return globSync(patterns).filter(
    (file) =>
      file.endsWith('.soak.test.ts') || /support\/(histories|rule)\.ts/.test(readFileSync(file, 'utf8')),
  );
}

export default defineConfig(({ mode }) => {
  const isSoak = mode === 'soak';
  const others = isSoak ? [] : [SOAK, ...(mode === 'days' ? [] : [DAYS])];
  return {
    test: {
      // A busy machine is slow: tests give up only where an event never comes.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 40_000 } },
      maxWorkers: 3,
      // Files share their worker's modules, because loading them costs half a second a file. A test that
      // changes module state restores it.
      isolate: false,
      projects: [
        {
          extends: true,
          test: {
            name: 'sqlite',
            include: mode === 'days' ? [DAYS] : filesOf(ON_SQLITE, isSoak),
            exclude: ['test/postgresql/**', ...others],
            env: { SOAK: isSoak ? '1' : '' },
            globalSetup: 'test/support/template-file.ts',
          },
        },
        {
          extends: true,
          test: {
            name: 'postgresql',
            include: [...filesOf(ON_POSTGRESQL, isSoak), ...(isSoak ? RULES : [])],
            exclude: others,
            env: { SOAK: isSoak ? '1' : '', TEST_PROVIDER: 'postgresql' },
            globalSetup: ['test/support/template-file.ts', 'test/support/postgres-server.ts'],
          },
        },
      ],
    },
  };
});
