import leven from 'leven';

/** Of the candidates those, other than the word itself, that the word is most likely a slip of: at most `most`, the nearest first, perhaps none. */
export function nearest(word: string, candidates: Iterable<string>, most = 3): string[] {
  const bound = 1 + Math.floor(word.length / 4);
  return Array.from(new Set(candidates), (name) => ({
    name,
    slips: leven(word.toLowerCase(), name.toLowerCase()),
  }))
    .filter(({ slips }) => slips > 0 && slips <= bound)
    .sort((one, other) => one.slips - other.slips)
    .slice(0, most)
    .map(({ name }) => name);
}
