import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, isExactNumber, parseExact } from '../../src/core/json.ts';

/** JSON numbers as text, from a single digit to 25 of them, with and without fraction and exponent. */
const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,24})$/);
const fraction = fc.oneof(fc.constant(''), fc.stringMatching(/^\.[0-9]{1,25}$/));
const exponent = fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/));
const number = fc.tuple(fc.constantFrom('', '-'), digits, fraction, exponent).map((parts) => parts.join(''));
const integer = fc.tuple(fc.constantFrom('', '-'), digits).map((parts) => parts.join(''));
const space = fc.constantFrom('', '', ' ', '\n', '\t', '\r\n  ');

/** JSON text whose canonical spelling is itself but for spaces: `numbers` as they are, keys unique and none that JavaScript would reorder. */
const jsonOf = (numbers: fc.Arbitrary<string>): fc.Arbitrary<{ spaced: string; plain: string }> => {
  const { value } = fc.letrec<{ value: { spaced: string; plain: string } }>((tie) => {
    const leaf = fc
      .oneof(
        numbers,
        fc.constantFrom('true', 'false', 'null'),
        fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text.replaceAll('\0', '\uFFFD'))),
      )
      .map((plain) => ({ plain, spaced: plain }));
    const key = fc.string().filter((text) => !/^\d/.test(text));
    const array = fc.tuple(space, fc.array(tie('value'), { maxLength: 4 })).map(([gap, items]) => ({
      plain: `[${items.map(({ plain }) => plain).join(',')}]`,
      spaced: `[${gap}${items.map(({ spaced }) => spaced).join(`${gap},${gap}`)}${gap}]`,
    }));
    const object = fc
      .tuple(space, fc.uniqueArray(fc.tuple(key, tie('value')), { selector: ([name]) => name, maxLength: 4 }))
      .map(([gap, entries]) => ({
        plain: `{${entries.map(([name, { plain }]) => `${JSON.stringify(name)}:${plain}`).join(',')}}`,
        spaced: `{${gap}${entries.map(([name, { spaced }]) => `${JSON.stringify(name)}${gap}:${gap}${spaced}`).join(`${gap},${gap}`)}${gap}}`,
      }));
    return { value: fc.oneof({ maxDepth: 4 }, leaf, array, object) };
  });
  return fc.tuple(space, value).map(([gap, { spaced, plain }]) => ({ spaced: gap + spaced + gap, plain }));
};

test('any JSON comes back with every digit, every fraction and every exponent, wherever a number stands', () => {
  fc.assert(
    fc.property(jsonOf(number), ({ spaced, plain }) => {
      expect(JSON.stringify(parseExact(spaced))).toBe(plain);
    }),
    { numRuns: 2000 },
  );
});

test('any JSON of whole numbers comes back with every digit', () => {
  fc.assert(
    fc.property(jsonOf(integer), ({ spaced, plain }) => {
      expect(JSON.stringify(parseExact(spaced))).toBe(plain);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  '9007199254740993',
  '-9007199254740993',
  '-0',
  '1.0',
  '1e400',
  '1E5',
  '0.1e1',
  '123456789012345678901234567890',
  '{"a":\u00209007199254740993}',
  '[1,\n-9007199254740993]',
  '{"a":-0}',
  '{"a":[-0.0]}',
  '{"__proto__":9223372036854775807}',
])('%s comes back as it was', (text) => {
  expect(JSON.stringify(parseExact(text))).toBe(text.replaceAll(/\s/g, ''));
});

test('of a name that stands twice the last value counts, with its own digits', () => {
  expect(JSON.stringify(parseExact('{"a":9007199254740993,"a":1}'))).toBe('{"a":1}');
  expect(JSON.stringify(parseExact('{"a":1,"a":9007199254740993}'))).toBe('{"a":9007199254740993}');
});

test('a number that JavaScript holds exactly stays a number, also beside one that it does not', () => {
  expect(parseExact('{"a":5,"b":[1.5,2],"c":9007199254740993}')).toMatchObject({ a: 5, b: [1.5, 2] });
});

test('digits in a text are left alone', () => {
  expect(parseExact('{"a":"x:9007199254740993"}')).toEqual({ a: 'x:9007199254740993' });
});

test('an exact number is told from an object that only looks like one', () => {
  expect(isExactNumber(parseExact('9007199254740993'))).toBe(true);
  expect(isExactNumber({ rawJSON: '9007199254740993' })).toBe(false);
  expect(isExactNumber(1)).toBe(false);
});

test('what is not JSON is refused on the quick way and on the exact one', () => {
  expect(() => parseExact('{"a":')).toThrow(SyntaxError);
  expect(() => parseExact('{"a":9007199254740993')).toThrow(SyntaxError);
});

test('equal content in any order of names has one canonical text, with every digit', () => {
  expect(canonicalJson(parseExact('{"b":{"z":9007199254740993,"y":[{"d":1,"c":2}]},"a":1}'))).toBe(
    '{"a":1,"b":{"y":[{"c":2,"d":1}],"z":9007199254740993}}',
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const turned = Object.fromEntries(Object.entries(object).toReversed());
      expect(canonicalJson(turned)).toBe(canonicalJson(object));
      expect(JSON.parse(canonicalJson(object))).toEqual(JSON.parse(JSON.stringify(object)));
    }),
  );
});

test('what no PostgreSQL text can hold comes as U+FFFD: null characters and halves of pairs, in values and keys; whole pairs and escaped backslashes stay', () => {
  expect(
    parseExact(
      String.raw`{"a\u0000":"\u0000\u0000b","c":"\uD83D\uDE00 \ud83d \uDE00","d":"\\u0000","e":9007199254740993,"f":"\\\u0000"}`,
    ),
  ).toEqual({
    'a\uFFFD': '\uFFFD\uFFFDb',
    c: '\u{1F600} \uFFFD \uFFFD',
    d: String.raw`\u0000`,
    e: parseExact('9007199254740993'),
    f: '\\\uFFFD',
  });
});

test('a number without measure, which no database takes, comes as text', () => {
  expect(parseExact('[1e9999, 1E-12345, 1e999]')).toEqual(['1e9999', '1E-12345', parseExact('1e999')]);
  expect(parseExact(`[${'1'.repeat(2000)}]`)).toEqual(['1'.repeat(2000)]);
});
