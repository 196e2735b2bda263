import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY } from '../../core/clock.ts';
import { iso } from '../../database/instants.ts';

/** A question that people ask, with its SQL. */
export interface Example {
  readonly question: string;
  readonly sql: string;
  /** A sentence that asks a person to put a value of their own into the SQL; null: none is needed. */
  readonly yours: string | null;
}

/** The questions of those who ask them: `A team lead`. */
export interface ExampleGroup {
  readonly who: string;
  readonly examples: readonly Example[];
}

/** The document with the cookbook: three folders up from src/query/figures and from dist/query/figures. */
export const COOKBOOK = join(import.meta.dirname, '../../../docs/sql.md');

/** A heading of those who ask, or a question with the SQL that follows it first. */
const PART = /^## Questions of (.+)$|^### (.+)\n(?:(?!^#|^```)[^])*?^```sql\n([^]*?)\n```$/gm;

const INSTANT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00/g;

/** An id, or the tag of the cookbook. */
const ITEM = /'(?:\d{4,}|Urgent)'/;

let document: string | undefined;

/**
 * The questions of the cookbook in docs/sql.md, by who asks them. An instant in their SQL becomes a day
 * before `now` (epoch ms).
 */
export function readExamples(now: number): ExampleGroup[] {
  const [, cookbook = ''] = (document ??= readFileSync(COOKBOOK, 'utf8')).split(/^# Cookbook$/m);
  const groups: { who: string; examples: Example[] }[] = [];
  for (const [, who, question = '', sql = ''] of cookbook.matchAll(PART)) {
    if (who !== undefined) groups.push({ who: who.replace(/^a/, 'A'), examples: [] });
    else groups.at(-1)?.examples.push({ question, ...asked(sql, now) });
  }
  return groups;
}

function asked(text: string, now: number): Pick<Example, 'sql' | 'yours'> {
  const sql = text.replaceAll(INSTANT, iso(now - DAY));
  if (ITEM.test(text)) return { sql, yours: 'Put your own id or name into its quotes.' };
  return { sql, yours: sql === text ? null : 'Its time is a day ago; set your own.' };
}
