import cliTruncate from 'cli-truncate';
import * as fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { cellsOf, cutToCells } from '../../src/core/humanize.ts';

/** Beyond U+2600 every text is measured by the library itself. */
const UNITS = Array.from({ length: 0x2600 }, (_, unit) => String.fromCharCode(unit));

test('each character below U+2600 fills as many cells as string-width says', () => {
  expect(UNITS.filter((text) => cellsOf(text) !== stringWidth(text))).toEqual([]);
});

test('a text of any characters fills as many cells as string-width says, and is cut as cli-truncate cuts it', () => {
  const character = fc.oneof(
    fc.constantFrom(
      'a',
      'é',
      '…',
      '→',
      '█',
      '中',
      '👩🏽‍🚀',
      '\u200D',
      '\uFE0F',
      '\u0301',
      '\u001B[1m',
      '\n',
      '1',
      '⃣',
    ),
    fc.constantFrom(...UNITS),
  );
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), fc.nat(14), (text, most) => {
      expect(cellsOf(text)).toBe(stringWidth(text));
      expect(cutToCells(text, most)).toBe(cliTruncate(text, most));
    }),
  );
});
