import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyFingerprint, withoutKey } from '../../src/core/secrets.ts';

const key = fc.stringMatching(/^[\x21-\x7e]{8,40}$/);

test('withoutKey removes the key in its plain, JSON-escaped and URL-encoded form', () => {
  fc.assert(
    fc.property(key, fc.string(), fc.string(), (secret, before, after) => {
      for (const form of [
        secret,
        JSON.stringify({ secret }),
        `https://x/?key=${encodeURIComponent(secret)}`,
      ]) {
        const clean = withoutKey(`${before}${form}${after}`, secret);
        expect(clean).not.toContain(secret);
        expect(clean).not.toContain(JSON.stringify(secret).slice(1, -1));
        expect(clean).not.toContain(encodeURIComponent(secret));
      }
    }),
  );
});

test('withoutKey leaves the rest of the text unchanged', () => {
  expect(withoutKey('Bearer s3cret/key was refused', 's3cret/key')).toBe('Bearer [key] was refused');
  expect(withoutKey('nothing here', 's3cret/key')).toBe('nothing here');
  expect(withoutKey('no key is set', null)).toBe('no key is set');
  expect(withoutKey('no key is set', '')).toBe('no key is set');
});

test('a fingerprint differs between keys, is stable and does not contain the key', () => {
  fc.assert(
    fc.property(key, key, (one, other) => {
      fc.pre(one !== other);
      expect(keyFingerprint(one)).toBe(keyFingerprint(one));
      expect(keyFingerprint(one)).not.toBe(keyFingerprint(other));
      expect(keyFingerprint(one)).toMatch(/^[0-9a-f]{16}$/);
      expect(keyFingerprint(one)).not.toContain(one);
    }),
  );
});
