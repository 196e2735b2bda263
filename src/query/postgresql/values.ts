import { types } from 'pg';
import type { Cell } from '../result.ts';

const {
  BOOL,
  BYTEA,
  FLOAT4,
  FLOAT8,
  INT2,
  INT4,
  INT8,
  JSON: JSON_TEXT,
  JSONB,
  NUMERIC,
  OID,
  TIMESTAMPTZ,
} = types.builtins;

const JSON_TYPES: ReadonlySet<number> = new Set([JSON_TEXT, JSONB]);

/**
 * Converts cells to the form that SQLite returns for the same query. A value without such a form stays the
 * server's text.
 */
const PARSERS: ReadonlyMap<number, (text: string) => Cell> = new Map<number, (text: string) => Cell>([
  [BOOL, (text) => text === 't'],
  [BYTEA, (text) => Buffer.from(text.slice(2), 'hex')],
  [TIMESTAMPTZ, asInstant],
  ...[INT2, INT4, INT8, OID].map((type) => [type, asInteger] as const),
  ...[FLOAT4, FLOAT8, NUMERIC].map((type) => [type, asNumber] as const),
]);

/** Converts a cell of a type, given by its id. */
export function parserOf(type: number): (text: string) => Cell {
  return PARSERS.get(type) ?? String;
}

/** True for the ids of `json` and `jsonb`. */
export function isJson(type: number): boolean {
  return JSON_TYPES.has(type);
}

function asInteger(text: string): Cell {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** A whole number keeps its digits; a fraction is as exact as on SQLite. */
function asNumber(text: string): Cell {
  if (/^-?\d+$/.test(text)) return asInteger(text);
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

/** An instant as the server writes it in a session in UTC, if its year has four digits. */
const IN_UTC = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;

function asInstant(text: string): Cell {
  const [, day, time, fraction = ''] = IN_UTC.exec(text) ?? [];
  // Much faster than a `Date`: a query can return millions of instants.
  if (day !== undefined) return `${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? text : instant.toISOString();
}
