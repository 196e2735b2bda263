import { expect, test } from 'vitest';
import { BrokenBody, readBody, readErrorMessage, readList, readObject } from '../../src/service/envelope.ts';
import { cpuMs } from '../support/cpu.ts';

/** A first page of at most 10 rows. */
const FIRST = { limit: 10, isFirst: true };
const ROWS = Array.from({ length: 10 }, (_, id) => ({ id }));

const PAGE = { results: [{ id: '1' }], pagination: { next_page: 'token' } };

test('readList reads a list at the top level and inside data', () => {
  const read = { rows: [{ id: '1' }], next: 'token' };
  expect(readList(PAGE, FIRST)).toEqual(read);
  expect(readList({ data: PAGE }, FIRST)).toEqual(read);
  expect(readList({ data: PAGE, meta: { version: 2 } }, FIRST)).toEqual(read);
});

test('a next_page of null ends a list', () => {
  expect(readList({ results: [], pagination: { next_page: null } }, FIRST)).toEqual({ rows: [], next: null });
});

test.each<[unknown, string]>([
  [null, 'null'],
  ['Jane Doe', 'a string'],
  [17, 'a number'],
  [[1, 2], 'an array of 2'],
  [{}, 'an object with no keys'],
  [{ conversations: ['Jane Doe'], total: 5 }, 'an object with "conversations", "total"'],
  [{ ['k'.repeat(64)]: 1, total: 5 }, 'an object with a name of 64 characters, "total"'],
  [{ data: { items: ['Jane Doe'] } }, 'an object with "data" ("data" has "items")'],
  [{ data: [PAGE] }, 'an object with "data"'],
  [{ results: { 0: 'Jane Doe' }, pagination: {} }, 'an object with "results", "pagination"'],
  [{ results: [] }, 'an object with "results"'],
  [{ data: { results: [], pagination: null } }, '("data" has "results", "pagination")'],
  [Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`key${n}`, 'Jane Doe'])), '"key7", …'],
])('readList rejects any other shape and names the shape, never its content (%#)', (body, came) => {
  expect(() => readList(body, FIRST)).toThrow(
    expect.objectContaining({ code: 'BAD_ANSWER', message: expect.stringContaining(came) as string }),
  );
  expect(() => readList(body, FIRST)).not.toThrow('Jane');
});

test('readList rejects a page of more rows than any service sends', () => {
  const page = (rows: number): unknown => ({
    results: Array.from({ length: rows }, () => 0),
    pagination: { next_page: null },
  });
  expect(readList(page(10_000), FIRST).rows).toHaveLength(10_000);
  expect(() => readList(page(10_001), FIRST)).toThrow(
    'the page has 10,001 rows, and at most 10,000 are read',
  );
});

test('readBody reads 250,000 values, and rejects more before it makes any of them', () => {
  const body = (values: number): string => `{"a":"[,{","b":[${'1,'.repeat(values - 3)}1]}`;
  expect(readBody(body(250_000))).toMatchObject({ a: '[,{' });
  expect(() => readBody(body(250_001))).toThrow(
    expect.objectContaining({
      code: 'BAD_ANSWER',
      message: 'the answer has more than 250,000 values, and was not read',
    }),
  );
});

test('readErrorMessage reads the first 65,536 characters only', () => {
  const json = (padding: number): string =>
    JSON.stringify({ Message: 'no access', padding: 'x'.repeat(padding) });
  expect(readErrorMessage(json(65_000))).toBe('no access');
  expect(readErrorMessage(json(66_000))).toBeNull();
});

test('readErrorMessage reads the title of any page in milliseconds', () => {
  expect(readErrorMessage('<html><title lang="en">Out of order</title></html>')).toBe('Out of order');
  const begun = cpuMs();
  expect(readErrorMessage('<title'.repeat(100_000))).toBeNull();
  // It took minutes.
  expect(cpuMs() - begun).toBeLessThan(5000);
});

test.each<[unknown, string]>([
  [5, 'a number'],
  [{ token: 'secret' }, 'an object with "token"'],
  [false, 'a boolean'],
])('readList rejects a next_page of another type instead of ending the list (%#)', (next, came) => {
  expect(() => readList({ results: [], pagination: { next_page: next } }, FIRST)).toThrow(
    expect.objectContaining({
      code: 'BAD_ANSWER',
      message: expect.stringContaining(`but got ${came}`) as string,
    }),
  );
});

test('readList rejects a next_page of more than 8,192 characters', () => {
  const read = (length: number) =>
    readList({ results: [], pagination: { next_page: 't'.repeat(length) } }, FIRST);
  expect(read(8192).next).toHaveLength(8192);
  expect(() => read(8193)).toThrow(
    expect.objectContaining({
      code: 'BAD_ANSWER',
      message: 'pagination.next_page has 8,193 characters, and a page token has 8,192 at most',
    }),
  );
});

test.each([{ pagination: {} }, { pagination: { next_page: '' } }])(
  'readList reads a missing or empty next_page as the end of a list only where the list can end (%#)',
  (end) => {
    expect(readList({ results: [], ...end }, FIRST).next).toBeNull();
    expect(readList({ results: ROWS.slice(1), ...end }, FIRST).next).toBeNull();
    expect(readList({ data: { results: ROWS, ...end } }, { limit: 10, isFirst: false }).next).toBeNull();
    expect(readList({ results: ROWS, ...end }, FIRST).next).toBeUndefined();
  },
);

test('readObject reads one object inside data, also as a one-element array', () => {
  expect(readObject({ data: { id: '1' } })).toEqual({ id: '1' });
  expect(readObject({ data: [{ id: '1' }] })).toEqual({ id: '1' });
});

test.each<[unknown]>([
  [{ data: [] }],
  [{ data: [{ id: '1' }, { id: '2' }] }],
  [{ data: null }],
  [{ id: '1' }],
  [[]],
  [{ data: 'x' }],
])('readObject rejects any other shape (%#)', (body) => {
  expect(() => readObject(body)).toThrow(expect.objectContaining({ code: 'BAD_ANSWER' }));
});

test('readErrorMessage returns the service’s message from both forms of an error body', () => {
  expect(readErrorMessage('{"errors":[{"message":"email is missing"},{"message":"so is name"}]}')).toBe(
    'email is missing; so is name',
  );
  expect(readErrorMessage('{"Message":"Too Many Requests"}')).toBe('Too Many Requests');
});

test.each([
  '',
  '<html>',
  '{}',
  '{"errors":[]}',
  '{"errors":[{"code":5}]}',
  '{"Message":5}',
  '{"errors":"x"}',
  '[]',
  'null',
  '5',
])('readErrorMessage returns null for the body %s, which has no message', (body) => {
  expect(readErrorMessage(body)).toBeNull();
});

test('readErrorMessage cuts a message after 200 characters, never inside one', () => {
  const words = readErrorMessage(JSON.stringify({ Message: '😀'.repeat(5000) })) ?? '';
  expect(words).toBe(`${'😀'.repeat(200)}…`);
});

test('readErrorMessage returns plain text, and the title of a page', () => {
  expect(readErrorMessage('API key expired on 2026-10-31.\n')).toBe('API key expired on 2026-10-31');
  expect(readErrorMessage('<html><head><title>502 Bad\nGateway</title></head>')).toBe('502 Bad Gateway');
  expect(readErrorMessage('{"Message":"cut sho')).toBeNull();
});

test('readErrorMessage keeps no control character, no bidirectional control and no run of spaces', () => {
  const message = 'no\u001B]0;title\u0007\r\n  access\u202E for\u009B31m you\u0000';
  expect(readErrorMessage(message)).toBe('no ]0;title access for 31m you');
  expect(readErrorMessage(JSON.stringify({ errors: [{ message }] }))).toBe(
    'no ]0;title access for 31m you\uFFFD',
  );
});

test.each([
  ['', 'the body was empty'],
  [' \n', 'the body was empty'],
  ['{"results":[{"email":"jane@example.com"', 'cut short or damaged JSON (39 characters)'],
  ['[1,', 'cut short or damaged JSON'],
  ['<!DOCTYPE html><p>Jane Doe', 'a page of HTML or XML'],
  ['Service of Jane Doe unavailable', 'some text'],
])('readBody rejects a body that is not JSON and names its kind, not its content (%#)', (body, kind) => {
  expect(() => readBody(body)).toThrow(BrokenBody);
  expect(() => readBody(body)).toThrow(kind);
  expect(() => readBody(body)).not.toThrow(/jane/i);
});

test('readBody accepts a byte order mark before the JSON', () => {
  expect(readBody('\uFEFF{"a":1}')).toEqual({ a: 1 });
});
