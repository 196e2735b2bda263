import { type GateState, judgeGate } from '../../../core/gate-state.ts';
import { fromNow } from '../../../core/humanize.ts';
import { type Output, paint } from '../../../session/terminal.ts';

const WORDS = { paused: 'paused', breaker: 'breaker open', 'key-refused': 'shut: the key was refused' };

/** Whether the gate is open at `now` (epoch ms), for people. */
export function gateWords(output: Output, { gate, now }: { gate: GateState; now: number }): string {
  const { word, until, cause } = judgeGate(gate, now);
  if (word === 'open') return 'open';
  const ends = until === null ? '' : `, ends ${fromNow(until, now)}`;
  return `${paint(output, 'red', WORDS[word])}${ends} (${cause})`;
}
