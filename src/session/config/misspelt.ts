import leven from 'leven';

/** More than these and a name is rather another program's: `HTTP_PROXY` is three from `HTTP_PORT`. */
const MOST_SLIPS = 2;

/** So nobody else's variables begin; with REQUESTS_ those of Python's do. */
const OURS = /^(INBOX_API|REQUESTS_PER|SCHEDULE)_/;

/**
 * A sentence for each variable that is set and not known, but looks as if one of ours was meant. Never a value: it may be a secret.
 * @param known every name that is read
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
        return [`${name} is set, but no such variable is read; perhaps ${closest.other} is meant`];
      return OURS.test(name)
        ? [`${name} is set, but no such variable is read; .env.example lists those that are`]
        : [];
    });
}
