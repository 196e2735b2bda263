import { createHash } from 'node:crypto';

/** The start of a hash: it distinguishes two keys and does not reveal either. */
export function keyFingerprint(key: string): string {
  return createHash('sha256').update(`inbox-mirror key ${key}`).digest('hex').slice(0, 16);
}

/** The text with `[key]` in place of the key, also where JSON or a URL escapes it. */
export function withoutKey(text: string, key: string | null): string {
  if (key === null || key === '') return text;
  let clean = text;
  for (const form of new Set([key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key)]))
    clean = clean.replaceAll(form, '[key]');
  return clean;
}
