import leven from 'leven';

/** A misspelt name differs by at most this many characters: `HTTP_PROXY` is three from `HTTP_PORT`. */
const MOST_SLIPS = 2;

/** Prefixes that only this program uses. `REQUESTS_` alone is missing: Python's requests library uses it. */
const OURS = /^(INBOX_API|REQUESTS_PER|SCHEDULE)_/;

/**
 * A sentence for each variable that is set and unknown, but looks like one of this program's. It never shows
 * the value, which may be a secret.
 * @param known every name that the program reads
 */
export function misspeltVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: ReadonlySet<string>,
): string[] {
  return Object.entries(env)
    .filter(([name, value]) => !known.has(name) && value?.trim())
    .flatMap(([name]) => {
      const [closest] = [...known]
        .map((other) => ({ other, slips: leven(name.toUpperCase(), other) }))
        .filter(({ slips }) => slips <= MOST_SLIPS)
        .sort((one, next) => one.slips - next.slips);
      if (closest !== undefined)
        return [`${name} is set, but the program reads no such variable; did you mean ${closest.other}?`];
      return OURS.test(name)
        ? [`${name} is set, but the program reads no such variable; .env.example lists all`]
        : [];
    });
}
