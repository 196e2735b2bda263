/**
 * `node bench/spacing.ts`: compares the gate's spacing (the real `spaceByArrival`) with simpler rules, on a
 * simulated network in front of a service with a strict sliding window. README.md explains the tables.
 */
import { parseArgs } from 'node:util';
import { IN_FLIGHT } from '../src/core/budget.ts';
import { type Random, randomStream } from '../src/sandbox/world/random.ts';
import { type Launch, spaceByArrival } from '../src/service/gate/spacing.ts';
import { aligned } from './figures.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    rate: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const requests = Number(values.requests);
const gapMs = 1000 / Number(values.rate);

/**
 * A network. `latencyMs`: shortest round trip. `jitterMs`: the largest random addition, half of it each way.
 * `slowShare`: share of answers that take `slowMs` longer. `lateShare`: share of requests that arrive `lateMs`
 * later, as after a packet that was lost.
 */
interface Network {
  readonly name: string;
  readonly latencyMs: number;
  readonly jitterMs: number;
  readonly slowShare: number;
  readonly slowMs: number;
  readonly lateShare: number;
  readonly lateMs: number;
}

const steady = { latencyMs: 80, slowShare: 0, slowMs: 0, lateShare: 0, lateMs: 0 };
const NETWORKS: readonly Network[] = [
  { ...steady, name: 'no jitter', jitterMs: 0 },
  { ...steady, name: 'jitter 10 ms', jitterMs: 10 },
  { ...steady, name: 'jitter 50 ms', jitterMs: 50 },
  { ...steady, name: 'jitter 200 ms', jitterMs: 200 },
  { ...steady, name: 'jitter 1000 ms', jitterMs: 1000 },
  { ...steady, name: 'jitter 50 ms, 2 % slow by 0.6 s', jitterMs: 50, slowShare: 0.02, slowMs: 600 },
  { ...steady, name: 'jitter 50 ms, 1 % late by 1 s', jitterMs: 50, lateShare: 0.01, lateMs: 1000 },
  { ...steady, name: 'every answer takes 2.5 s', jitterMs: 50, slowShare: 1, slowMs: 2500 },
];

/** A rule for the start of the next request. The caller reports each start and each answer. */
interface Rule {
  earliest(): number;
  started(at: number): void;
  answered(start: number, at: number): void;
}

const RULES: Readonly<Record<string, () => Rule>> = {
  'start + gap': () => {
    let last = Number.NEGATIVE_INFINITY;
    return {
      earliest: () => last + gapMs,
      started: (at) => (last = at),
      answered: () => undefined,
    };
  },
  'answer + gap': () => {
    let last = Number.NEGATIVE_INFINITY;
    return {
      earliest: () => last + gapMs,
      started: () => (last = Number.POSITIVE_INFINITY),
      answered: (_start, at) => (last = at),
    };
  },
  'the gate': gate,
};

/** The gate's spacing with ideal launches of bottleneck. */
function gate(): Rule {
  const { waitsForAnswer, expectedHold, heldUntil, departed, answered } = spaceByArrival(gapMs);
  let now = 0;
  let launch: Launch | null = null;
  let last: Launch = { at: Number.NEGATIVE_INFINITY, holdMs: 0 };
  return {
    earliest() {
      if (launch === null && waitsForAnswer()) return Number.POSITIVE_INFINITY;
      launch ??= { at: Math.max(now, last.at + gapMs + last.holdMs), holdMs: expectedHold(now) };
      return heldUntil(launch);
    },
    started(at) {
      now = at;
      last = launch ?? last;
      launch = null;
      departed(last, at);
    },
    answered(start, at) {
      now = Math.max(now, at);
      answered(start, at);
    },
  };
}

interface Outcome {
  /** Share of requests that arrived less than a gap after the previous arrival; refused requests count. */
  readonly early: number;
  /** Share of requests that a service refuses if it counts only admitted requests. */
  readonly refused: number;
  /** Requests started per gap: 1 is the limit. */
  readonly rate: number;
}

/** Sends each request as soon as the rule allows. The queue is never empty. */
function simulate(rule: Rule, network: Network, random: Random): Outcome {
  const underWay: { start: number; answer: number }[] = [];
  const arrivals: number[] = [];
  let now = 0;
  const answerNext = (): void => {
    const { start, answer } = underWay.shift() ?? { start: now, answer: now };
    now = Math.max(now, answer);
    rule.answered(start, answer);
  };
  for (let sent = 0; sent < requests; sent += 1) {
    for (;;) {
      const start = Math.max(now, rule.earliest());
      if (start === Number.POSITIVE_INFINITY || underWay.length >= IN_FLIGHT) {
        answerNext();
        continue;
      }
      if ((underWay[0]?.answer ?? Number.POSITIVE_INFINITY) < start) {
        answerNext();
        continue;
      }
      now = start;
      // An answer that arrived meanwhile may have moved the start.
      if (rule.earliest() <= now) break;
    }
    const slow = random() < network.slowShare ? network.slowMs : 0;
    const oneWay = (): number => (network.latencyMs + network.jitterMs * random()) / 2;
    const late = random() < network.lateShare ? network.lateMs : 0;
    const arrival = now + late + oneWay();
    arrivals.push(arrival);
    rule.started(now);
    underWay.push({ start: now, answer: arrival + slow + oneWay() });
    underWay.sort((a, b) => a.answer - b.answer);
  }
  return { ...judge(arrivals), rate: ((requests - 1) * gapMs) / now };
}

function judge(arrivals: number[]): { early: number; refused: number } {
  arrivals.sort((a, b) => a - b);
  // Tolerate 1 microsecond of floating-point error.
  const gap = gapMs - 0.001;
  let early = 0;
  let refused = 0;
  let admitted = Number.NEGATIVE_INFINITY;
  for (const [index, at] of arrivals.entries()) {
    if (at - (arrivals[index - 1] ?? Number.NEGATIVE_INFINITY) < gap) early += 1;
    if (at - admitted < gap) refused += 1;
    else admitted = at;
  }
  return { early: early / arrivals.length, refused: refused / arrivals.length };
}

const names = Object.keys(RULES);
const outcomes = NETWORKS.map((network) => ({
  network: network.name,
  rules: Object.fromEntries(
    Object.entries(RULES).map(([name, rule]) => [
      name,
      simulate(rule(), network, randomStream(Number(values.seed), network.name)),
    ]),
  ),
}));

if (values.json) {
  process.stdout.write(`${JSON.stringify({ requests, gapMs, outcomes }, null, 2)}\n`);
} else {
  const percent = (share: number | undefined): string => `${((share ?? 0) * 100).toFixed(1)} %`;
  const table = (of: (outcome: Outcome | undefined) => string): string =>
    aligned([
      ['', ...names],
      ...outcomes.map(({ network, rules }) => [`  ${network}`].concat(names.map((name) => of(rules[name])))),
    ]);
  process.stdout.write(
    [
      `${requests} requests, at most one every ${gapMs} ms; the shortest round trip is 80 ms`,
      'arrived early, if every arrival counts (as in the sandbox)\n' +
        table((outcome) => percent(outcome?.early)),
      `refused, if only admitted requests count\n${table((outcome) => percent(outcome?.refused))}`,
      `rate reached (1 is the limit)\n${table((outcome) => (outcome?.rate ?? 0).toFixed(3))}`,
    ].join('\n\n'),
  );
  process.stdout.write('\n');
}
