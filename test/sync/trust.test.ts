import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { histories } from '../support/histories.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { step } from '../support/steps.ts';
import { Trial } from '../support/trial.ts';
import { expectEqualToService } from '../support/truth.ts';

/** `.ci/run` tries the 500 of the soak on each database. */
const HISTORIES = histories(ON_SQLITE ? 4 : 2, 500);

const SMALL: Partial<SandboxOptions> = {
  idType: 'string',
  conversations: [34, 12],
  usersPerInbox: 4,
  tagsPerInbox: 3,
};
const ORDERS = fc.constantFrom<Partial<SandboxOptions>>(
  {},
  { listOrder: 'desc' },
  { listOrder: 'mixed' },
  { pageTokens: 'positions' },
);

test(
  'whatever the service, its clock, another account or a backup does, no row gets a wrong tombstone, the cap holds, and all heals',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ seed: fc.nat(1000), order: ORDERS, cap: fc.constantFrom(30, 1000) }),
        fc.array(step, { minLength: 3, maxLength: 25 }),
        async ({ seed, order, cap }, history) => {
          const trial = await Trial.begin(cap, { seed, ...SMALL, ...order });
          // Rows that return after a rightful tombstone have it until the next sync.
          let before: string[] = [];
          for (const one of history) {
            await trial.take(one);
            const wrong = await trial.wrongTombstones();
            if (one.kind !== 'happen' && one.kind !== 'restore')
              expect(wrong.filter((row) => !before.includes(row))).toEqual([]);
            before = wrong;
            trial.expectCap();
          }
          await trial.rest();
          trial.expectCap();
          await expectEqualToService(trial.mirror);
          await trial.mirror.database.close();
        },
      ),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);

test.runIf(ON_SQLITE)(
  'a backup that is restored on another host within seconds waits for its lease',
  async () => {
    const trial = await Trial.begin(1000, SMALL);
    await trial.take({ kind: 'backup' });
    await trial.take({ kind: 'other-host', hours: 3 });
    await trial.take({ kind: 'set-clock', hours: -3 });
    await trial.take({ kind: 'restore' });
    // The first try to open the copy has left no connection behind, which would lock the file here.
    await trial.take({ kind: 'restore' });
    await trial.rest();
    await expectEqualToService(trial.mirror);
  },
);
