import { createHash } from 'node:crypto';

/** The start of a hash: it distinguishes two keys and does not reveal either. */
export function keyFingerprint(key: string): string {
  return createHash('sha256').update(`inbox-mirror key ${key}`).digest('hex').slice(0, 16);
}

/** How a process reaches an account: INBOX_API_URL, and the {@link keyFingerprint} of its key. */
export interface Access {
  readonly address: string;
  readonly fingerprint: string;
}

/** A text that is equal for equal accesses. It holds no part of the key. */
export function accessId({ address, fingerprint }: Access): string {
  return `${fingerprint} ${address}`;
}

/** The key that the sandbox accepts by default. It opens no account. */
export const SANDBOX_KEY = 'sandbox-key';

/** A text may contain a shorter key by chance. It is no secret. */
export const LEAST_KEY = 8;

/** Stands in place of the key. */
export const NO_KEY = '[key]';

/** Text with {@link NO_KEY} in place of the key, in every form in which an answer may repeat it. */
export function withoutKey(text: string, key: string | null): string {
  return key === null || key === '' ? text : text.replaceAll(knownPattern(key), NO_KEY);
}

/** True if a text contains the key, in any form that {@link withoutKey} removes. */
export function holdsKey(text: string, key: string): boolean {
  return text.search(knownPattern(key)) !== -1;
}

/** The pattern of each key in use: a log removes the same few keys from every line. One takes a megabyte. */
const patterns = new Map<string, RegExp>();

/** More keys than are in use at a time. */
const MOST_PATTERNS = 16;

function knownPattern(key: string): RegExp {
  const known = patterns.get(key);
  if (known !== undefined) return known;
  if (patterns.size >= MOST_PATTERNS) patterns.clear();
  const pattern = patternOf(key);
  patterns.set(key, pattern);
  return pattern;
}

/** The key itself, and in base64, alone or inside a longer text. */
function patternOf(key: string): RegExp {
  const [first = '', ...others] = key.match(/\\+|[^\\]/g) ?? [];
  const itself = formsOf(first, '') + others.map((part) => formsOf(part, '\\\\*')).join('');
  const encoded = [0, 1, 2].map((before) => inBase64(key, before)).filter((text) => text !== '');
  return new RegExp([itself, ...encoded].join('|'), 'g');
}

/**
 * One character, or a run of backslashes: plain, percent-encoded, as an entity of HTML, or escaped by JSON,
 * also by JSON inside JSON.
 * @param escapes the pattern of the backslashes that may precede the plain character. The first character
 *   has none: the search would begin at each of a million backslashes and read all the others.
 */
function formsOf(part: string, escapes: string): string {
  if (part.startsWith('\\')) return `(?:(?<!\\\\)\\\\+|${codesOf('\\', '')})+`;
  const plain = /\w/.test(part) ? part : `\\x${part.charCodeAt(0).toString(16)}`;
  return `(?:${escapes}${plain}|${codesOf(part, escapes)})`;
}

/** JSON may escape the signs of the other codes too: .NET and Go write `\u0026` for `&`. */
function codesOf(character: string, escapes: string): string {
  const code = character.charCodeAt(0);
  const hex = anyCase(code.toString(16));
  // It may have been encoded again.
  const ampersand = `${signOf('&', escapes)}(?:amp;)*`;
  const number = `${ampersand}${signOf('#', escapes)}`;
  const end = signOf(';', escapes);
  const names = ENTITIES[character] ?? [];
  return [
    `${percentOf(escapes)}${hex}`,
    inJson(character, escapes),
    `${number}0*${code}(?:${end}|(?!\\d))`,
    `${number}[xX]0*${hex}(?:${end}|(?![\\da-fA-F]))`,
    ...names.map((name) => `${ampersand}${name}${end}`),
  ].join('|');
}

function inJson(character: string, escapes: string): string {
  return `${escapes}\\\\u00${anyCase(character.charCodeAt(0).toString(16))}`;
}

/** A sign that a code consists of: plain, or escaped by JSON. */
function signOf(sign: string, escapes: string): string {
  return `(?:${sign}|${inJson(sign, escapes)})`;
}

/** A percent sign, which may have been encoded again. */
function percentOf(escapes: string): string {
  return `${signOf('%', escapes)}(?:25)*`;
}

/** The names of HTML for the characters that keys have. */
const ENTITIES: Readonly<Record<string, readonly string[]>> = {
  '&': ['amp'],
  '<': ['lt'],
  '>': ['gt'],
  '"': ['quot'],
  "'": ['apos'],
  '/': ['sol'],
  '+': ['plus'],
  '=': ['equals'],
  _: ['lowbar', 'UnderBar'],
  '.': ['period'],
  ':': ['colon'],
  '#': ['num'],
  '%': ['percnt'],
  $: ['dollar'],
  '!': ['excl'],
  '*': ['ast', 'midast'],
  '@': ['commat'],
};

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** Base64 of fewer characters may occur by chance. */
const LEAST_BASE64 = 8;

/**
 * The pattern of the base64 characters that only the key determines, after `before` other bytes (0 to 2);
 * empty if they are too few. More bytes before change nothing, because base64 repeats every 3 bytes.
 */
function inBase64(key: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(key)]);
  const own = bytes.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
  if (own.length < LEAST_BASE64) return '';
  const forms = Array.from(own, (character, nth) => inBase64Forms(character, nth === 0 ? '' : '\\\\*'));
  return forms.join(LINE_BREAK);
}

/** MIME breaks base64 into lines, which may begin with a space. JSON escapes a line break. */
const LINE_BREAK = String.raw`(?:\s*|(?:\\+r)?\\+n\s*)`;

/**
 * A character of base64: plain, escaped by JSON, and the two that are not letters in their other forms.
 * @param escapes as in {@link formsOf}
 */
function inBase64Forms(character: string, escapes: string): string {
  const escaped = inJson(character, escapes);
  const percent = percentOf(escapes);
  if (character === '+') return `(?:[+-]|${percent}2[bB]|${escaped})`;
  if (character === '/') return `(?:${escapes}/|_|${percent}2[fF]|${escaped})`;
  return `(?:${character}|${escaped})`;
}
