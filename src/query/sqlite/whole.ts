import { messageOf } from '../../core/errors.ts';
import { sqlitePath } from '../../database/sqlite/file.ts';

/** The log has at most this many characters of a complaint, which can be long. */
const MOST_CHARACTERS = 200;

/**
 * Reads the whole file of a mirror, in a process of its own: a large file takes minutes.
 * @param url `file:…`
 * @returns why the file cannot be called whole; null if it is whole
 * @throws the signal's reason
 */
export async function damageOf(url: string, signal: AbortSignal): Promise<string | null> {
  // Loaded on first use: few files are ever checked.
  const { openInChild } = await import('../reads/child.ts');
  const cut = new AbortController();
  const leave = (): void => cut.abort(signal.reason);
  signal.addEventListener('abort', leave);
  try {
    signal.throwIfAborted();
    const connection = await openInChild(sqlitePath(url), cut);
    try {
      // `quick_check` compares no index with its table.
      const { rows } = await connection.read('PRAGMA integrity_check(1)', [], { rows: 1, characters: 1000 });
      const said = String(rows[0]?.[0]);
      return said === 'ok' ? null : said.replaceAll(/\s+/g, ' ').slice(0, MOST_CHARACTERS);
    } finally {
      await connection.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
