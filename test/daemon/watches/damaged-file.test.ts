import { expect, test } from 'vitest';
import { MINUTE, SECOND } from '../../../src/core/clock.ts';
import { DamagedFile } from '../../../src/daemon/watches/damaged-file.ts';
import { TestClock } from '../../support/clock.ts';

const { signal } = new AbortController();

/** A file whose checks take this long and say this, one after the other; then it is whole. */
function checked(answers: (string | null)[], takesMs = 0) {
  const clock = new TestClock();
  const begun: number[] = [];
  const said: unknown[] = [];
  const file = new DamagedFile({
    clock,
    log: { error: (...line: unknown[]) => void said.push(line) },
    async check() {
      begun.push(clock.monotonic());
      await clock.sleep(takesMs);
      return answers.shift() ?? null;
    },
  });
  return { clock, file, begun, said };
}

/** The times between the checks, in seconds. */
const gaps = (begun: number[]): number[] => begun.map((at, index) => (at - (begun[index - 1] ?? 0)) / SECOND);

test('a file is checked soon, then less and less often, and the log names its damage once', async () => {
  const { file, begun, said } = checked(Array.from({ length: 6 }, () => 'row 3 missing from index a'));
  await file.untilWhole(signal);
  expect(gaps(begun)).toEqual([5, 20, 80, 320, 600, 600, 600]);
  expect(said).toEqual([[{ cause: 'row 3 missing from index a' }, expect.stringContaining('not found')]]);
});

test('the disk of a file whose check takes long rests for as long between two checks', async () => {
  const { file, begun } = checked(['damaged', 'damaged'], 20 * MINUTE);
  await file.untilWhole(signal);
  expect(gaps(begun)).toEqual([5, 40 * 60, 40 * 60]);
});

test('a file that seems damaged again soon after a check is checked later, and after a quiet time soon', async () => {
  const { clock, file, begun } = checked([]);
  for (const pause of [0, MINUTE, MINUTE, 11 * MINUTE]) {
    await clock.sleep(pause);
    await file.untilWhole(signal);
  }
  expect(gaps(begun)).toEqual([5, 60 + 20, 60 + 80, 660 + 5]);
});

test('the stop of the daemon ends the wait', async () => {
  const stop = new AbortController();
  const { file, begun } = checked([]);
  const waiting = file.untilWhole(stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  expect(begun).toEqual([]);
});
