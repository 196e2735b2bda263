/** Of the candidates those, other than the word itself, that the word is most likely a slip of: at most `most`, the nearest first, perhaps none. */
export function nearest(word: string, candidates: Iterable<string>, most = 3): string[] {
  const bound = 1 + Math.floor(word.length / 4);
  return Array.from(new Set(candidates), (name) => ({ name, slips: slipsBetween(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ slips }) => slips > 0 && slips <= bound)
    .sort((one, other) => one.slips - other.slips)
    .slice(0, most)
    .map(({ name }) => name);
}

/** How many letters were added, left out, changed, or swapped with their neighbours. */
export function slipsBetween(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      let slips = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + (same ? 0 : 1));
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
        slips = Math.min(slips, (beforeLast[column - 2] ?? 0) + 1);
      current.push(slips);
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}
