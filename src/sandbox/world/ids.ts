import { draw, type Random } from './random.ts';

/** Compares ids by number, without a BigInt for each comparison. Ids are digits without leading zeros. */
function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Returns the index of the first id in `sorted` that is not below `id`; `sorted.length` if all are below.
 */
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
 * A Map keyed by id that also lists its ids in numeric order. The first read of `order` sorts the ids; every
 * later change of the map updates `order` by binary search. Pages therefore stay correct when a test deletes
 * a row from the map.
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
 * Generates increasing ids. After `jumpAfter` ids it jumps to `jumpTo`, which lies past 2^53: a client that
 * parses such ids as JavaScript numbers rounds them, and neighbours collide. All ids fit an int64.
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

  next(random: Random): string {
    if (this.#left-- === 0) this.#next = this.#jumpTo;
    const id = String(this.#next);
    this.#next += BigInt(1 + draw(random, this.#step));
    return id;
  }
}
