import { expect, test } from 'vitest';
import { MINUTE } from '../../src/core/clock.ts';
import { type GateState, nextStrike } from '../../src/core/gate-state.ts';

const AFTER_THREE = { strikes: 3, endedAt: new Date(0) } as GateState;

test.each([
  [0, 4],
  [19, 4],
  [21, 3],
  [39, 3],
  [41, 2],
  [59, 2],
  [60, 1],
])('strikes decay: %i min after the pause of a third one, a 429 is strike %i', (minutes, strike) => {
  expect(nextStrike(AFTER_THREE, minutes * MINUTE)).toBe(strike);
});
