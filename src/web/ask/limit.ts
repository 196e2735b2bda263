import { tokensOf } from '../../query/tokens.ts';

/** The number of a `LIMIT` that ends the SQL, and the SQL without it; null if it ends otherwise. */
export function endingLimit(sql: string): { readonly limit: number; readonly without: string } | null {
  const [word, number] = tokensOf(sql)
    .filter(({ text }) => text !== ';')
    .slice(-2);
  if (word === undefined || number === undefined) return null;
  if (word.text.toLowerCase() !== 'limit' || !/^\d+$/.test(number.text)) return null;
  return { limit: Number(number.text), without: sql.slice(0, word.at).trimEnd() };
}
