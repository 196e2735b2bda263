import { test } from 'vitest';
import { IN_SOAK } from './histories.ts';
import { ON_SQLITE } from './provider.ts';

/**
 * A test of a rule above the statements, in a file whose other tests drive the same statements. On PostgreSQL
 * it runs in `npm run soak` only.
 */
export const rule: ReturnType<typeof test.runIf> = test.runIf(ON_SQLITE || IN_SOAK);

/** The cases of a rule: on PostgreSQL, `npm test` has only the first `some` of them. */
export function casesOf<Case>(cases: readonly Case[], some: number): readonly Case[] {
  return ON_SQLITE || IN_SOAK ? cases : cases.slice(0, some);
}
