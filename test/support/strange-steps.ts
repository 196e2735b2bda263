import * as fc from 'fast-check';
import { LIST_NAMES, type ListName } from '../../src/core/lists.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import { happening, type Happening, type Some } from './happenings.ts';

const EMPTY = '{"results":[],"pagination":{"next_page":null}}';
const OTHER = '{"data":{"id":"1","status":"open","assignee":null,"tag_ids":[]}}';

/** Wrong answers, each by what a log would say of it. */
export const ANSWERS = {
  reset: 'reset',
  'server error': { status: 500, body: 'oops' },
  maintenance: { status: 503, body: '<html>Back soon</html>', headers: { 'retry-after': '900' } },
  'too many': { status: 429, body: '{}' },
  'too many, wait': { status: 429, body: '{}', headers: { 'retry-after': '1800' } },
  forbidden: { status: 403, body: '{"errors":[{"message":"no access"}]}' },
  'not found': { status: 404, body: '{"errors":[{"message":"not found"}]}' },
  'bad request': { status: 400, body: '{"errors":[{"message":"not now"}]}' },
  empty: { status: 200, body: EMPTY },
  'no list': { status: 200, body: '{}' },
  'web page': { status: 200, body: '<html>Back soon</html>' },
  'another row': { status: 200, body: OTHER },
} satisfies Record<string, ScriptedOutcome>;

/** Groups of paths that fail together. `ID` stands for an inbox. */
export const PLACES = {
  everything: '/',
  'all pages of conversations': '/conversations\\?',
  'later pages of conversations': '/conversations\\?.*next_page=',
  'single conversations': '/conversations/',
  'one inbox': '/inboxes/ID',
  'the conversations of one inbox': '/inboxes/ID/conversations\\?',
  'single conversations of one inbox': '/inboxes/ID/conversations/',
  'the inboxes': '/v1/inboxes\\?',
  'single inboxes': '/v1/inboxes/\\d+$',
  'users and tags': '/(users|tags)\\?',
  searches: '/(users|tags)/search',
};

/** Every `oneIn`-th request of a place gets the answer. */
interface StrangeFault {
  readonly answer: keyof typeof ANSWERS;
  readonly place: keyof typeof PLACES;
  readonly inbox: number;
  readonly oneIn: number;
}

/** One step of a strange time. The numbers select an inbox or a row among those that exist. */
export type StrangeStep =
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'happen'; readonly happenings: readonly Happening[] }
  | {
      readonly kind: 'fail';
      readonly faults: readonly StrangeFault[];
      readonly hours: number;
      /** The list leaves these rows out for the time of the faults. */
      readonly hidden: Some;
    }
  | { readonly kind: 'refuse-key'; readonly hours: number }
  | ({ readonly kind: 'unlist' } & Some)
  | { readonly kind: 'relist' }
  | { readonly kind: 'inbox-goes' }
  | { readonly kind: 'inbox-returns' }
  | { readonly kind: 'order'; readonly order: 'sync' | 'resync'; readonly lists: readonly ListName[] }
  | { readonly kind: 'cancel-orders' }
  | { readonly kind: 'restart'; readonly minutes: number }
  | { readonly kind: 'kill'; readonly statements: number; readonly minutes: number }
  | { readonly kind: 'reboot'; readonly minutes: number; readonly hours: number }
  | { readonly kind: 'set-clock'; readonly hours: number }
  | { readonly kind: 'suspend'; readonly hours: number };

const of = <Kind extends StrangeStep['kind']>(kind: Kind): fc.Arbitrary<Kind> => fc.constant(kind);
const minutes = fc.constantFrom(0, 1, 30, 300);
const wrongBy = fc.constantFrom(-25, -2, 2, 25);
const inAHappening = happening.filter(({ kind }) => !kind.endsWith('-inbox'));

const some: fc.Arbitrary<Some> = fc.record({
  inbox: fc.nat(2),
  row: fc.nat(97),
  rows: fc.constantFrom(0, 1, 3, 12, 25),
});

/** A 403 for the inboxes refuses the key for good: `refuse-key` has it. */
const refusesKey = ({ answer, place }: StrangeFault): boolean =>
  answer === 'forbidden' && (place === 'everything' || place === 'the inboxes');

/** A service that knows a row at one moment and not at the next can still be believed (docs/reliability.md). */
const steadily = (fault: StrangeFault): StrangeFault =>
  fault.answer === 'not found' ? { ...fault, oneIn: 1 } : fault;

const oneIn = fc.constantFrom(1, 1, 2, 5);
const strangeFault = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record<StrangeFault>({
        answer: fc.constantFrom(...(Object.keys(ANSWERS) as (keyof typeof ANSWERS)[])),
        place: fc.constantFrom(...(Object.keys(PLACES) as (keyof typeof PLACES)[])),
        inbox: fc.nat(2),
        oneIn,
      })
      .filter((fault) => !refusesKey(fault))
      .map(steadily),
  },
  // The one fault that looks like a second witness of a deletion.
  {
    weight: 1,
    arbitrary: fc.record<StrangeFault>({
      answer: fc.constant('not found'),
      place: fc.constantFrom('single conversations', 'single conversations of one inbox'),
      inbox: fc.nat(2),
      oneIn: fc.constant(1),
    }),
  },
);

export const strangeStep: fc.Arbitrary<StrangeStep> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: of('wait'), hours: fc.constantFrom(0.1, 1, 5, 13, 26) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: of('happen'),
      happenings: fc.array(inAHappening, { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: of('fail'),
      faults: fc.array(strangeFault, { minLength: 1, maxLength: 3 }),
      hours: fc.constantFrom(0.05, 0.5, 2, 7, 20),
      hidden: some,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('refuse-key'), hours: fc.constantFrom(0.1, 3, 30) }) },
  { weight: 2, arbitrary: some.map((one) => ({ kind: 'unlist' as const, ...one })) },
  { weight: 1, arbitrary: fc.record({ kind: of('relist') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('inbox-goes') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('inbox-returns') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: of('order'),
      order: fc.constantFrom('sync', 'resync'),
      lists: fc.subarray([...LIST_NAMES], { minLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('cancel-orders') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('restart'), minutes }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: of('kill'), statements: fc.integer({ min: 1, max: 400 }), minutes }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('reboot'), minutes, hours: wrongBy }) },
  { weight: 1, arbitrary: fc.record({ kind: of('set-clock'), hours: wrongBy }) },
  { weight: 1, arbitrary: fc.record({ kind: of('suspend'), hours: fc.constantFrom(0.1, 9) }) },
);
