import { type Access, accessId } from '../../core/secrets.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { FencedDatabase } from '../lease.ts';
import { readSetting, writeSetting } from '../settings/settings.ts';

/** An inbox of the mirror. */
export interface KnownInbox {
  readonly id: string;
  readonly email: string | null;
  /** Since when its list has left it out, even if the service returns it by its id; null if it is listed. */
  readonly missingSince: Date | null;
  readonly deleted: boolean;
  /** A consent has replaced it, and no complete list has had it since: it may be of an earlier account. */
  readonly replaced: boolean;
}

/** The marks of the mirror's account. */
export interface KnownAccount {
  /** Every inbox, those with a tombstone too, in numeric order of the ids. */
  readonly inboxes: readonly KnownInbox[];
  /** The address at which the account was last seen; null if it was never seen. */
  readonly address: string | null;
  /** The fingerprint of the key that last led to the account; null if none was recorded. */
  readonly fingerprint: string | null;
  /** The access that last led to the account, by its {@link accessId}; null if none was recorded. */
  readonly access: string | null;
  /** Since when the service has shown another account; null if it does not. */
  readonly refusedSince: Date | null;
}

/** Another account behind the address or the key. No request but a rare test is sent before `until`. */
export interface OtherAccount {
  readonly since: Date;
  readonly until: Date;
  readonly cause: string;
  /** The access that leads there, as {@link accessId} names it. */
  readonly access: string;
}

export interface OtherAccountRow {
  account_access: string | null;
  account_cause: string | null;
  account_since: Date | null;
  account_until: Date | null;
}

/** The settings that hold the access which has led to the mirror's account. */
const ADDRESS = 'account_address';
const KEY = 'account_key';

/** The setting that holds the id of the pass whose consent to another account was used last. */
export const CONSENT = 'account_consent';

/** The setting that holds the ids of the inboxes that consents have replaced, as a JSON list. */
const REPLACED = 'account_replaced';

export function asOtherAccount(row: OtherAccountRow): OtherAccount | null {
  const { account_access: access, account_cause: cause, account_since: since, account_until: until } = row;
  if (access === null || since === null || until === null) return null;
  return { since, until, cause: cause ?? 'cause unknown', access };
}

export async function readAccount(database: Database): Promise<KnownAccount> {
  const rows = await database.query<{
    id: string;
    email: string | null;
    missing_since: Date | null;
    unlisted_since: Date | null;
    deleted_at: Date | null;
  }>(
    `SELECT inboxes.id, email, missing_since, since AS unlisted_since, deleted_at
     FROM inboxes LEFT JOIN unlisted ON list = 'inboxes' AND item_id = inboxes.id
     ORDER BY length(inboxes.id), inboxes.id`,
  );
  const [refused] = await database.query<Pick<OtherAccountRow, 'account_since'>>(
    `SELECT account_since FROM gate_state WHERE id = 1`,
  );
  const address = await readSetting(database, ADDRESS);
  const fingerprint = await readSetting(database, KEY);
  const replaced = new Set(await readReplaced(database));
  return {
    inboxes: rows.map(
      ({ id, email, missing_since: missing, unlisted_since: unlisted, deleted_at: deleted }) => ({
        id,
        email,
        missingSince: missing ?? unlisted,
        deleted: deleted !== null,
        replaced: replaced.has(id),
      }),
    ),
    address,
    fingerprint,
    access: address === null || fingerprint === null ? null : accessId({ address, fingerprint }),
    refusedSince: refused?.account_since ?? null,
  };
}

/**
 * Records that this access leads to the mirror's account.
 * @param accepted the ids of the inboxes on the first page of a consent's list; null without a consent. All
 *   others count as replaced until a complete list has them
 */
export async function proveAccount(
  { write }: FencedDatabase,
  access: Access,
  accepted: readonly string[] | null = null,
): Promise<void> {
  await write(async (tx) => {
    if (accepted !== null) await replaceAllBut(tx, accepted);
    await writeSetting(tx, ADDRESS, access.address);
    await writeSetting(tx, KEY, access.fingerprint);
    await tx.execute(
      `UPDATE gate_state SET account_access = NULL, account_cause = NULL, account_since = NULL,
         account_until = NULL
       WHERE account_access IS NOT NULL`,
    );
  });
}

async function readReplaced(sql: Pick<Sql, 'query'>): Promise<string[]> {
  return JSON.parse((await readSetting(sql, REPLACED)) ?? '[]') as string[];
}

async function replaceAllBut(tx: Sql, accepted: readonly string[]): Promise<void> {
  const known = await tx.query<{ id: string }>(`SELECT id FROM inboxes`);
  const kept = new Set(accepted);
  const replaced = known.flatMap(({ id }) => (kept.has(id) ? [] : id));
  await writeSetting(tx, REPLACED, JSON.stringify(replaced));
}

/** After a complete list of inboxes: those that it has are the account's, and no longer replaced. */
export async function forgetListedReplaced(tx: Sql): Promise<void> {
  const replaced = await readReplaced(tx);
  if (replaced.length === 0) return;
  const unlisted = await tx.query<{ id: string }>(
    `SELECT id FROM inboxes
     WHERE deleted_at IS NOT NULL OR missing_since IS NOT NULL
       OR id IN (SELECT item_id FROM unlisted WHERE list = 'inboxes')`,
  );
  const lacking = new Set(unlisted.map(({ id }) => id));
  await writeSetting(tx, REPLACED, JSON.stringify(replaced.filter((id) => lacking.has(id))));
}

/** Records that this access leads to another account. @param until when the next test is due, epoch ms */
export async function refuseAccount(
  { write }: FencedDatabase,
  access: Access,
  cause: string,
  { now, until }: { now: number; until: number },
): Promise<void> {
  await write(async (tx) => {
    await tx.execute(
      `INSERT INTO gate_state (id, account_access, account_cause, account_since, account_until)
       VALUES (1, $1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET account_access = excluded.account_access,
         account_cause = excluded.account_cause, account_until = excluded.account_until,
         account_since = COALESCE(gate_state.account_since, excluded.account_since)`,
      accessId(access),
      cause,
      iso(now),
      iso(until),
    );
  });
}
