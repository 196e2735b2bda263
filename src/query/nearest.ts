import leven from 'leven';

/**
 * The candidates of which `word` is most likely a misspelling, nearest first: at most `most`, possibly none.
 * The word itself does not count.
 */
export function nearest(word: string, candidates: Iterable<string>, most = 3): string[] {
  const mostSlips = 1 + Math.floor(word.length / 4);
  return Array.from(new Set(candidates), (name) => ({
    name,
    slips: leven(word.toLowerCase(), name.toLowerCase()),
  }))
    .filter(({ slips }) => slips > 0 && slips <= mostSlips)
    .sort((one, other) => one.slips - other.slips)
    .slice(0, most)
    .map(({ name }) => name);
}
