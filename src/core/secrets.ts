import { createHash } from 'node:crypto';

/** Tells two keys apart without keeping either: the start of a hash, of no use for finding the key. */
export function keyFingerprint(key: string): string {
  return createHash('sha256').update(`inbox-mirror key ${key}`).digest('hex').slice(0, 16);
}

/** The text with every occurrence of the key put out, also as JSON or a URL would write it. */
export function withoutKey(text: string, key: string | null): string {
  if (key === null || key === '') return text;
  let clean = text;
  for (const form of new Set([key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key)]))
    clean = clean.replaceAll(form, '[key]');
  return clean;
}
