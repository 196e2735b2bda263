import { expect, test } from 'vitest';
import { MINUTE } from '../../src/core/clock.ts';
import { type GateState, nextStrike } from '../../src/core/gate-state.ts';

const AFTER_THREE = { strikes: 3, endedAt: new Date(0), slowdown: 1 } as GateState;

test.each([
  [0, 4],
  [19, 4],
  [21, 3],
  [39, 3],
  [41, 2],
  [59, 2],
  [60, 1],
])('strikes decay: %i min after the pause of a third one, a 429 is strike %i', (minutes, strike) => {
  expect(nextStrike(AFTER_THREE, minutes * MINUTE, 0)).toBe(strike);
});

test('after the strike of the longest pause, the next 429 is that strike again', () => {
  expect(nextStrike({ ...AFTER_THREE, strikes: 5 }, MINUTE, 0)).toBe(5);
});

test.each([
  [9, 4],
  [10, 3],
  [20, 2],
  [30, 1],
  [100, 1],
])(
  'strikes fade: after the pause of a third one and %i served requests, a 429 is strike %i',
  (served, strike) => {
    expect(nextStrike(AFTER_THREE, MINUTE, served)).toBe(strike);
  },
);

test.each([
  [2, 4, 4],
  [3, 4, 3],
  [1, 16, 4],
  [2, 16, 3],
])('%i served requests at a gap %i times as long: a 429 is strike %i', (served, slowdown, strike) => {
  expect(nextStrike({ ...AFTER_THREE, slowdown }, MINUTE, served)).toBe(strike);
});
