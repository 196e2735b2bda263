import { isObject } from '../../core/json.ts';
import type { Sql } from '../../database/database.ts';
import { readSetting, writeSetting } from './settings.ts';

/** The setting that holds the credit. */
const NAME = 'pace_credit';

/**
 * Requests that the pace allowed, and that scheduled work had not sent at the instant `at`, epoch ms;
 * negative if it had sent some ahead of the pace.
 */
export interface Credit {
  readonly requests: number;
  readonly at: number;
  /** The pace of single requests at that instant, an hour; missing in the record of an older program. */
  readonly anHour?: number;
  /** Requests that walks had saved, to read their pages without a pause, by list. */
  readonly saved?: Readonly<Record<string, number>>;
}

/**
 * The credit as the daemon last recorded it; null on a mirror that no daemon has served yet, or if the record
 * is no credit.
 */
export async function readCredit(sql: Pick<Sql, 'query'>): Promise<Credit | null> {
  const value = await readSetting(sql, NAME);
  return value === null ? null : creditIn(value);
}

function creditIn(text: string): Credit | null {
  try {
    const stored = JSON.parse(text) as Partial<Record<keyof Credit, unknown>>;
    const { requests, at, anHour, saved } = stored;
    if (!isFiniteNumber(requests) || !isFiniteNumber(at) || !isFiniteNumber(new Date(at).getTime()))
      return null;
    return {
      requests,
      at,
      ...(typeof anHour === 'number' && { anHour }),
      ...(isObject(saved) && { saved: numbersIn(saved) }),
    };
  } catch {
    return null;
  }
}

function numbersIn(values: Record<string, unknown>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, number] => isFiniteNumber(entry[1])),
  );
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

export async function writeCredit(tx: Pick<Sql, 'execute'>, credit: Credit): Promise<void> {
  await writeSetting(tx, NAME, JSON.stringify(credit));
}
