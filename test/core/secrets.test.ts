import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyFingerprint, withoutKey } from '../../src/core/secrets.ts';
import { cpuMs } from '../support/cpu.ts';

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

const hex = (character: string): string => character.charCodeAt(0).toString(16);
const spelt = (text: string, spell: (character: string) => string): string => text.replaceAll(/./gs, spell);

/** The forms in which a server, a proxy or a page of HTML can repeat a key. */
const FORMS: [string, (secret: string) => string][] = [
  ['JSON inside JSON', (secret) => JSON.stringify(JSON.stringify({ secret }))],
  ['\\u escapes', (secret) => spelt(secret, (c) => `\\u00${hex(c).toUpperCase()}`)],
  ['PHP’s JSON', (secret) => JSON.stringify(secret).replaceAll('/', '\\/')],
  ['percent-encoding', (secret) => spelt(secret, (c) => `%${hex(c)}`)],
  ['base64', (secret) => Buffer.from(secret).toString('base64')],
  ['base64 of user and key', (secret) => Buffer.from(`:${secret}`).toString('base64')],
  ['base64url of a longer text', (secret) => Buffer.from(`me:${secret}!`).toString('base64url')],
  [
    'base64 with \\u escapes',
    (secret) => spelt(Buffer.from(secret).toString('base64'), (c) => `\\u00${hex(c)}`),
  ],
  [
    'base64 in the lines of MIME',
    (secret) => Buffer.from(secret).toString('base64').replaceAll(/.{10}/g, '$&\r\n'),
  ],
  [
    'base64 in the lines of MIME, in JSON',
    (secret) => Buffer.from(secret).toString('base64').replaceAll(/.{10}/g, '$&\\r\\n '),
  ],
  [
    'percent-encoding, three times',
    (secret) => encodeURIComponent(encodeURIComponent(spelt(secret, (c) => `%${hex(c)}`))),
  ],
  ['decimal entities', (secret) => spelt(secret, (c) => `&#0${c.charCodeAt(0)};`)],
  ['decimal entities without semicolons', (secret) => spelt(secret, (c) => `&#${c.charCodeAt(0)}`)],
  ['entities whose & is encoded again', (secret) => spelt(secret, (c) => `&amp;#x${hex(c)};`)],
  ['entities whose & is escaped by JSON', (secret) => spelt(secret, (c) => `\\u0026#x${hex(c)};`)],
  [
    'entities whose signs are all escaped by JSON',
    (secret) => spelt(secret, (c) => `\\u0026\\u0023${c.charCodeAt(0)}\\u003B`),
  ],
  ['percent-encoding whose % is escaped by JSON', (secret) => spelt(secret, (c) => `\\u0025${hex(c)}`)],
  [
    'base64 in an address, whose % is escaped by JSON',
    (secret) => encodeURIComponent(Buffer.from(`a${secret}`).toString('base64')).replaceAll('%', '\\u0025'),
  ],
  ['hexadecimal entities', (secret) => spelt(secret, (c) => `&#x${hex(c)};`)],
  [
    'HTML’s named entities',
    (secret) =>
      secret
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&apos;'),
  ],
  [
    'further named entities, in JSON of .NET',
    (secret) =>
      secret
        .replaceAll('&', '&amp;')
        .replaceAll('/', '&sol;')
        .replaceAll('+', '&plus;')
        .replaceAll('=', '&equals;')
        .replaceAll('_', '&lowbar;')
        .replaceAll('&', '\\u0026'),
  ],
];

test.each(FORMS)('withoutKey removes the key in the form of %s', (_name, form) => {
  const whole = `"/<&>'+=\\k3y-s3cret`;
  expect(withoutKey(form(whole), whole)).not.toMatch(/k3|s3/);
  fc.assert(
    fc.property(key, (secret) => {
      const text = form(secret);
      const left = withoutKey(`before ${text} after`, secret);
      expect(left).toMatch(/^before .*\[key\].* after$/s);
      // At most a few characters at the edges of base64 mix bits of the key with bits of its neighbours.
      expect(left.length).toBeLessThanOrEqual('before {\\"secret\\":[key]} after'.length + 16);
    }),
  );
});

test('withoutKey reads a megabyte of backslashes within a second', () => {
  const begun = cpuMs();
  withoutKey('\\'.repeat(1024 * 1024), 's3cret\\"/key');
  expect(cpuMs() - begun).toBeLessThan(1000);
});

test.each(['\n', '\\n', ' \\u006e', 'n\\n', '%25', '&amp;', '&#0', '\\u0026', '\\u0025'])(
  'withoutKey reads a megabyte of %j within a second',
  (part) => {
    const begun = cpuMs();
    // After two bytes, base64 of this key begins with n, the letter of an escaped line break.
    withoutKey(part.repeat((1024 * 1024) / part.length), 'g%s3cret/key');
    expect(cpuMs() - begun).toBeLessThan(1000);
  },
);

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
