import { z } from 'zod';
import { MirrorError } from '../core/errors.ts';
import { LIST_NAMES } from '../core/lists.ts';
import type { ChangesOptions } from './changes.ts';
import type { OpenOptions } from './library.ts';
import type { PassOptions, ResyncOptions } from './passes.ts';

/** A check for each option. */
type Known<Options> = Record<keyof Options, z.ZodType>;

const DATE = z.date({ error: 'Invalid input: expected a valid Date' });

/** The options of each method. In plain JavaScript, no compiler checks them. */
export const OPEN = z.strictObject({
  address: z.string().regex(/\S/, 'is empty; without an address, DATABASE_URL is read').optional(),
  env: z.looseObject({}).optional(),
  cwd: z.string().optional(),
} satisfies Known<OpenOptions>);
export const SYNC = z.strictObject({
  lists: z.array(z.enum(LIST_NAMES)).min(1).optional(),
  inboxId: z.string().optional(),
  signal: z.instanceof(AbortSignal).optional(),
} satisfies Known<PassOptions>);
export const RESYNC = SYNC.extend({
  acceptDeletes: z.boolean().optional(),
  acceptAccount: z.boolean().optional(),
} satisfies Known<Omit<ResyncOptions, keyof PassOptions>>);
export const CHANGES = z.strictObject({
  list: z.enum(LIST_NAMES).optional(),
  inboxId: z.string().optional(),
  itemId: z.string().optional(),
  field: z.string().optional(),
  since: DATE.optional(),
  until: DATE.optional(),
  afterId: z.union([z.number(), z.string()]).optional(),
  follow: z.boolean().optional(),
  signal: z.instanceof(AbortSignal).optional(),
} satisfies Known<ChangesOptions>);

/**
 * Refuses options that a method does not have, or that have another type: the method would do something else
 * than its caller wants, and say nothing.
 * @throws MirrorError `USAGE`
 */
export function refuseWrong(method: string, known: z.ZodObject, options: unknown): void {
  const { error } = known.safeParse(options);
  if (error === undefined) return;
  const faults = error.issues.map(({ path, message }) => [...path.map(String), message].join(': '));
  const names = Object.keys(known.shape).join(', ');
  throw new MirrorError('USAGE', `${method}: ${faults.join('; ')}. The options are: ${names}.`);
}
