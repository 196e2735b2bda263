import type { Sql } from '../../database/database.ts';
import { readSetting, writeSetting } from './settings.ts';

/** The setting that holds the credit. */
const NAME = 'pace_credit';

/** Requests that the pace allowed, and that scheduled work had not sent at the instant `at`, epoch ms. */
export interface Credit {
  readonly requests: number;
  readonly at: number;
  /** The pace of single requests at that instant, an hour; missing in the record of an older program. */
  readonly anHour?: number;
  /** Requests that a walk had saved, to read its pages without a pause. */
  readonly saved?: number;
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
    const { requests, at, anHour, saved } = JSON.parse(text) as Credit;
    const isCredit = Number.isFinite(requests) && Number.isFinite(new Date(at).getTime());
    if (!isCredit || typeof at !== 'number') return null;
    return {
      requests,
      at,
      ...(typeof anHour === 'number' && { anHour }),
      ...(typeof saved === 'number' && saved > 0 && { saved }),
    };
  } catch {
    return null;
  }
}

export async function writeCredit(tx: Pick<Sql, 'execute'>, credit: Credit): Promise<void> {
  await writeSetting(tx, NAME, JSON.stringify(credit));
}
