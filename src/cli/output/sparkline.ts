/** One column a value, from the least to the greatest. */
const BLOCKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** A column without a value, or with the value 0. */
const NONE = '·';

/** Draws a column for each value, as high as its part of the greatest one; null and 0 are a dot. */
export function sparkline(values: readonly (number | null)[]): string {
  const greatest = Math.max(0, ...values.map((value) => value ?? 0));
  return values
    .map((value) => {
      if (value === null || value <= 0) return NONE;
      return BLOCKS[Math.max(0, Math.ceil((value / greatest) * BLOCKS.length) - 1)] ?? NONE;
    })
    .join('');
}
