import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareIds, isBeyond, sqlRanges } from '../../src/mirror/bookmarks/order.ts';
import { histories } from '../support/histories.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { freshMirrorFile } from '../support/template.ts';

const { parameters, timeoutMs } = histories(100);
const anId = fc.tuple(fc.constantFrom(1n, 9n, 10n, 10n ** 19n, 10n ** 20n, 10n ** 62n), fc.bigInt(0n, 99n));

test(
  'the ranges of a page hold each id between its bounds once, whatever the lengths of the ids',
  async () => {
    const { dialect, query } = await temporaryDatabase(await freshMirrorFile());
    const ids = fc.uniqueArray(
      anId.map(([base, more]) => String(base + more)),
      { minLength: 2 },
    );
    await fc.assert(
      fc.asyncProperty(
        ids,
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.tuple(fc.boolean(), fc.boolean()),
        async (all, direction, [isFirst, isLast]) => {
          const bounds = all.slice(0, 2).sort(compareIds);
          if (direction === 'desc') bounds.reverse();
          const after = isFirst ? '' : bounds[0]!;
          const reach = isLast ? null : bounds[1]!;
          const given = [after, reach].filter((bound) => bound !== '' && bound !== null);
          const ranges = sqlRanges(
            { direction, after, reach },
            { after: '$2', reach: `$${given.length + 1}` },
          );
          expect(ranges.length).toBeLessThan(4);
          const rows = await query<{ id: string }>(
            ranges
              .map(
                (range) =>
                  `SELECT id FROM (SELECT value AS id FROM ${dialect.texts('$1', 'stored')}) AS conversations
                   WHERE ${range}`,
              )
              .join(' UNION ALL '),
            JSON.stringify(all),
            ...given,
          );
          const within = all.filter(
            (id) =>
              (after === '' || isBeyond(direction, id, after)) &&
              (reach === null || !isBeyond(direction, id, reach)),
          );
          expect(rows.map(({ id }) => id).sort(compareIds)).toEqual(within.sort(compareIds));
        },
      ),
      parameters,
    );
  },
  timeoutMs,
);
