import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SECOND } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import { TABLE_SENTENCES, VIEW_NAMES } from '../database/catalogue.ts';
import { isPostgres } from '../database/open.ts';
import { addressOf } from '../database/postgresql/address.ts';
import { checkCreatable, sqlitePath } from '../database/sqlite/file.ts';
import { openReadOnly, sqliteFile } from '../query/open.ts';
import { isReadable } from '../query/sqlite/readable.ts';
import { systemClock } from './clock.ts';
import { readConfig } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
import { openSession, type Session, type SessionOptions } from './session.ts';
import type { Io } from './terminal.ts';

/** The session of a check of the configuration. */
export interface CheckSession {
  readonly session: Session;
  /** A sentence that says what the first sync creates; null if there is a mirror already. */
  readonly plan: string | null;
}

/** The longest rest, in ms, after the request of a check that had no mirror. */
const LONGEST_REST_MS = 5 * SECOND;

/**
 * Opens a session on the mirror, and creates none. A missing one is replaced by an empty stand-in in a
 * temporary folder, in which the ledger counts the requests of the check.
 * @throws MirrorError `CONFIG`, `USAGE` if this account may not read a SQLite mirror, or `DATABASE` if the
 *   mirror could not be opened or created
 */
export async function openCheck(io: Io, options: SessionOptions = {}): Promise<CheckSession> {
  const config = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: true, own: io.env });
  const { databaseUrl, budget } = config;
  if (await exists(databaseUrl)) return { session: await openSession(io, options), plan: null };
  if (isPostgres(databaseUrl))
    await (await import('../database/postgresql/open.ts')).checkPostgresCreatable(databaseUrl);
  else checkCreatable(sqlitePath(databaseUrl));
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // The next command knows nothing of the requests, and must not send its own within the gap.
  const rest = async (): Promise<void> =>
    await systemClock()
      .sleep(Math.min(SECOND / budget.perSecond, LONGEST_REST_MS), io.signal)
      .catch(() => undefined);
  try {
    const session = await openSession({ ...io, env: { ...io.env, ...standInAt(folder) } }, options);
    session.defer(remove);
    session.defer(rest);
    return { session, plan: planFor(databaseUrl) };
  } catch (error) {
    remove();
    throw error;
  }
}

/** @throws MirrorError `USAGE` for a SQLite mirror that this account may not read */
async function exists(databaseUrl: string): Promise<boolean> {
  const path = sqliteFile(databaseUrl);
  if (path !== null && !isReadable(path)) return false;
  try {
    await (await openReadOnly(databaseUrl)).close();
    return true;
  } catch (error) {
    if (path === null && isMirrorError(error, 'USAGE')) return false;
    throw error;
  }
}

/** The variables of a stand-in. It exists for one check, and must not stay in the records of the key. */
function standInAt(folder: string): Io['env'] {
  return {
    DATABASE_URL: `file:${join(folder, 'mirror.db')}`,
    DATABASE_URL_FILE: undefined,
    INBOX_STATE_DIR: undefined,
    XDG_STATE_HOME: undefined,
    HOME: undefined,
  };
}

function planFor(databaseUrl: string): string {
  const parts = `${Object.keys(TABLE_SENTENCES).length} tables and ${VIEW_NAMES.length} views`;
  return isPostgres(databaseUrl)
    ? `no mirror yet: the first sync creates ${parts} in ${addressOf(databaseUrl).name}`
    : `no mirror yet: the first sync creates ${sqlitePath(databaseUrl)} with ${parts}`;
}
