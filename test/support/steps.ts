import * as fc from 'fast-check';
import type { Fault } from '../../src/sandbox/http/faults.ts';
import { type BlindTime, DECIDES_NOTHING, type Obscured } from './blindness.ts';
import { happening, type Happening, type Some } from './happenings.ts';
import { ON_SQLITE } from './provider.ts';

/** One step of a history. The numbers select a list, an inbox and a row among those that exist. */
export type Step =
  | { readonly kind: 'happen'; readonly happening: Happening }
  | { readonly kind: 'sync'; readonly minutes: number }
  | { readonly kind: 'read-page'; readonly nth: number; readonly minutes: number }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly list: number; readonly inbox: number }
  | { readonly kind: 'heal' }
  | { readonly kind: 'blind'; readonly time: BlindTime }
  | { readonly kind: 'obscure'; readonly some: Obscured }
  | { readonly kind: 'slip'; readonly row: number }
  | ({ readonly kind: 'unlist' } & Some)
  | { readonly kind: 'rename-during-walk'; readonly inbox: number; readonly row: number }
  | { readonly kind: 'other-account'; readonly moved: boolean; readonly nth: number }
  | { readonly kind: 'backup' }
  | { readonly kind: 'restore' }
  | { readonly kind: 'set-clock'; readonly hours: number }
  | { readonly kind: 'other-host'; readonly hours: number };

const minutes = fc.constantFrom(0, 1, 15, 90);
const hours = fc.constantFrom(-25, -3, 3, 25);
const of = <Kind extends Step['kind']>(kind: Kind): fc.Arbitrary<Kind> => fc.constant(kind);

const blindTime: fc.Arbitrary<BlindTime> = fc.record({
  edge: fc.constantFrom('begins', 'ends'),
  requests: fc.nat(40),
  isEmpty: fc.boolean(),
});

const obscured: fc.Arbitrary<Obscured> = fc.record({
  answer: fc.constantFrom(...(Object.keys(DECIDES_NOTHING) as Obscured['answer'][])),
  oneIn: fc.constantFrom(1, 2, 7),
});

/** A restored backup is a matter of the server's own tools on PostgreSQL: its rows would be the same. */
const BACKUPS = ON_SQLITE
  ? [
      { weight: 1, arbitrary: fc.record({ kind: of('backup') }) },
      { weight: 1, arbitrary: fc.record({ kind: of('restore') }) },
    ]
  : [];

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: happening.map((one) => ({ kind: 'happen' as const, happening: one })) },
  { weight: 4, arbitrary: fc.record({ kind: of('sync'), minutes }) },
  { weight: 3, arbitrary: fc.record({ kind: of('read-page'), nth: fc.nat(20), minutes }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: of('fault'),
      fault: fc.constantFrom<Fault>('empty', 'endless', 'forbidden', 'nameless', 'unreadable'),
      list: fc.nat(3),
      inbox: fc.nat(3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('heal') }) },
  { weight: 3, arbitrary: fc.record({ kind: of('slip'), row: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: of('unlist'),
      inbox: fc.nat(3),
      row: fc.nat(97),
      rows: fc.constantFrom(1, 3, 12, 25),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: of('blind'), time: blindTime }) },
  { weight: 2, arbitrary: fc.record({ kind: of('obscure'), some: obscured }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: of('rename-during-walk'), inbox: fc.nat(3), row: fc.nat(97) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('other-account'), moved: fc.boolean(), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('set-clock'), hours }) },
  { weight: 1, arbitrary: fc.record({ kind: of('other-host'), hours }) },
  ...BACKUPS,
);
