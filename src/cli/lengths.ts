const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A length of time as people write it: `0.5s`, `30m`, `30min`, `2h`, `7d`. @returns milliseconds; null for anything else */
export function parseLength(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*(s|m|min|h|d)$/.exec(text) ?? [];
  const ms = UNITS[unit];
  return ms === undefined ? null : Number(number) * ms;
}
