import { defineConfig } from 'vitest/config';

/** The store's contract: these run on each database. The gate's other tests look at its ledger through the same few statements. */
const CONTRACT = [
  'test/store/{faults,follow-clock,housekeeping,leases,plans,releases,schema}.test.ts',
  'test/sync/{crash,equality,history,suspects,walks}.test.ts',
  'test/service/gate-budget.test.ts',
  'test/views/{docs,history,lifecycle,now,property,readers}.test.ts',
  'test/cli/flow.test.ts',
  'test/daemon/{changes-endpoint,webhooks}.test.ts',
];

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 20_000,
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'sqlite', include: ['test/**/*.test.ts'], exclude: ['test/postgresql/**'] } },
      {
        extends: true,
        test: {
          name: 'postgresql',
          include: [...CONTRACT, 'test/postgresql/*.test.ts'],
          env: { TEST_PROVIDER: 'postgresql' },
          globalSetup: 'test/support/postgres-server.ts',
        },
      },
    ],
  },
});
