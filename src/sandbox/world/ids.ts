import { draw, type Random } from './random.ts';

/** Numeric order of ids written as digits without leading zeros, without a BigInt for each comparison. */
function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The index of the first of `sorted` ids that is not below `id`; `sorted.length` when all are. */
export function lowerBound(sorted: readonly string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareIds(sorted[middle] ?? '', id) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A Map keyed by id that also knows its ids in numeric order. The order is sorted once, when first asked for, and then kept by
 * binary insertion, whoever changes the map: a test that deletes a row directly still gets right pages.
 */
export class IdMap<V> extends Map<string, V> {
  #order: string[] | null = null;

  get order(): readonly string[] {
    return (this.#order ??= [...this.keys()].sort(compareIds));
  }

  override set(id: string, value: V): this {
    if (this.#order !== null && !this.has(id)) this.#order.splice(lowerBound(this.#order, id), 0, id);
    return super.set(id, value);
  }

  override delete(id: string): boolean {
    if (!super.delete(id)) return false;
    this.#order?.splice(lowerBound(this.#order, id), 1);
    return true;
  }

  override clear(): void {
    super.clear();
    this.#order = null;
  }
}

/**
 * Ids that grow with time and, after `jumpAfter` of them, past 2^53: a client that reads them as JavaScript numbers rounds
 * them, and neighbours collide. Below int64 always.
 */
export class IdSequence {
  #next: bigint;
  #left: number;
  readonly #jumpTo: bigint;
  readonly #step: number;

  constructor({
    from,
    jumpTo,
    jumpAfter,
    step,
  }: {
    from: bigint;
    jumpTo: bigint;
    jumpAfter: number;
    step: number;
  }) {
    this.#next = from;
    this.#jumpTo = jumpTo;
    this.#left = jumpAfter;
    this.#step = step;
  }

  take(random: Random): string {
    if (this.#left-- === 0) this.#next = this.#jumpTo;
    const id = String(this.#next);
    this.#next += BigInt(1 + draw(random, this.#step));
    return id;
  }
}
