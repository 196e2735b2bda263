import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeHidden, canonicalJson, isExactNumber, parseExact, TOO_DEEP } from '../../src/core/json.ts';

/** JSON numbers as text: 1 to 25 digits, with or without fraction and exponent. */
const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,24})$/);
const fraction = fc.oneof(fc.constant(''), fc.stringMatching(/^\.[0-9]{1,25}$/));
const exponent = fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/));
const number = fc.tuple(fc.constantFrom('', '-'), digits, fraction, exponent).map((parts) => parts.join(''));
const integer = fc.tuple(fc.constantFrom('', '-'), digits).map((parts) => parts.join(''));
const space = fc.constantFrom('', '', ' ', '\n', '\t', '\r\n  ');

/** JSON text without spaces and with spaces. Keys are unique, and JavaScript does not reorder them. */
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

test('parseExact keeps every digit, fraction and exponent of each number in any JSON', () => {
  fc.assert(
    fc.property(jsonOf(number), ({ spaced, plain }) => {
      expect(JSON.stringify(parseExact(spaced))).toBe(plain);
    }),
    { numRuns: 2000 },
  );
});

test('parseExact keeps every digit of each whole number in any JSON', () => {
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
])('parseExact keeps %s unchanged', (text) => {
  expect(JSON.stringify(parseExact(text))).toBe(text.replaceAll(/\s/g, ''));
});

test('the last value of a repeated key wins, with its exact digits', () => {
  expect(JSON.stringify(parseExact('{"a":9007199254740993,"a":1}'))).toBe('{"a":1}');
  expect(JSON.stringify(parseExact('{"a":1,"a":9007199254740993}'))).toBe('{"a":9007199254740993}');
});

test('a number that JavaScript can hold exactly stays a number, even beside one that it cannot', () => {
  expect(parseExact('{"a":5,"b":[1.5,2],"c":9007199254740993}')).toMatchObject({ a: 5, b: [1.5, 2] });
});

test('digits inside a string stay unchanged', () => {
  expect(parseExact('{"a":"x:9007199254740993"}')).toEqual({ a: 'x:9007199254740993' });
});

test('isExactNumber rejects an object that only looks like an exact number', () => {
  expect(isExactNumber(parseExact('9007199254740993'))).toBe(true);
  expect(isExactNumber({ rawJSON: '9007199254740993' })).toBe(false);
  expect(isExactNumber(1)).toBe(false);
});

test('invalid JSON is refused by the fast path and by the exact one', () => {
  expect(() => parseExact('{"a":')).toThrow(SyntaxError);
  expect(() => parseExact('{"a":9007199254740993')).toThrow(SyntaxError);
});

test('equal content has the same canonical text in any order of keys, with every digit', () => {
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

test('null characters and lone surrogates become U+FFFD, as PostgreSQL text cannot hold them', () => {
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

test('a number beyond the range of databases becomes a string', () => {
  expect(parseExact('[1e9999, 1E-12345, 1e999]')).toEqual(['1e9999', '1E-12345', parseExact('1e999')]);
  expect(parseExact(`[${'1'.repeat(2000)}]`)).toEqual(['1'.repeat(2000)]);
});

/** Twice as many levels, objects and arrays in turn, with brackets and quotes in the texts between them. */
const nested = (pairs: number, inside: string): string =>
  String.raw`{"}}\\":["]]\"[{\\\"","",`.repeat(pairs) + inside + ']}'.repeat(pairs);

test('parseExact keeps 100 levels, and puts a marked text in the place of each deeper value', () => {
  const whole = nested(50, '9007199254740993');
  expect(JSON.stringify(parseExact(whole))).toBe(whole);
  const mark = JSON.stringify(TOO_DEEP);
  expect(JSON.stringify(parseExact(nested(50, '[1],{"a":"]"},2')))).toBe(nested(50, `${mark},${mark},2`));
  expect(parseExact(`[${nested(20_000, '1')},2,${nested(300, '[]')},3]`)).toMatchObject({ 1: 2, 3: 3 });
});

test.each(['['.repeat(200_000), `${'['.repeat(200)}"`, `${nested(300, '1')}]`])(
  'parseExact reports damaged JSON as such, however deep it is (%#)',
  (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError);
  },
);

test('harmless JSON escapes controls and invisible characters, and parses to the same text', () => {
  const hidden = 'a\u009B\u202E\u200B\u00AD\u{E0041}\u{E0101}b';
  const shown = 'né \u2764\uFE0F 👩\u200D🚀 می\u200Cخواهم 日本';
  const json = escapeHidden(`${JSON.stringify([hidden, shown])}\n`);
  expect(json).toBe(`["a\\u009b\\u202e\\u200b\\u00ad\\udb40\\udc41\\udb40\\udd01b","${shown}"]\n`);
  expect(JSON.parse(json)).toEqual([hidden, shown]);
});
