import { expect, test } from 'vitest';
import { HOUR, SECOND } from '../../src/core/clock.ts';
import { limitOf } from '../../src/core/retry-timing.ts';

test.each([
  ['Too Many Requests: more than 5000 requests in 24 hours', null, 'day'],
  ['Daily quota exceeded', SECOND, 'day'],
  ['Too Many Requests: more than 1 requests per second', 6 * HOUR, 'rate'],
  ['Too Many Requests', 6 * HOUR, 'day'],
  ['Try again on Monday', 30 * SECOND, 'rate'],
  ['Rate limit exceeded: 1 request per second, 5000 requests per day', null, null],
  ['Rate limit exceeded: 1 request per second, 5000 requests per day', SECOND, 'rate'],
  ['Rate limit exceeded: 1 request per second, 5000 requests per day', 6 * HOUR, 'day'],
  [null, null, null],
])('a 429 with the words %j and Retry-After %j ms is for the limit %j', (words, hint, limit) => {
  expect(limitOf(words, hint)).toBe(limit);
});
