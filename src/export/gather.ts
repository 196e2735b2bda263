import type { ColumnSource } from 'hyparquet-writer';

export type Stored = string | number | bigint | boolean | null;

/** The values of a column in a row group. */
export type GatheredColumn = Pick<ColumnSource, 'data' | 'encoding'>;

/**
 * Gathers the values of a column until their row group is written, in few objects: the garbage collector
 * copies each object of a group twice, and that was a third of an export's time.
 */
export interface Gatherer {
  add(value: Stored): void;
  /** The values since the last call. They must be written before the next value is added. */
  take(): GatheredColumn;
}

/** If more than this share of a group's texts differs, the next groups hold bytes. */
const VARIED = 0.8;

/** After this many groups of bytes a group is gathered as texts again, to see whether they still differ. */
const GROUPS_OF_BYTES = 16;

/** Bytes of a column's first buffer. It grows to what a group needs. */
const FIRST_BYTES = 64 * 1024;

/** Marks a NULL among the ends of texts. */
const NULL = -1;

/**
 * Texts: those that repeat are held once, for a dictionary. Where most differ, each is encoded as it comes.
 */
export class TextGatherer implements Gatherer {
  #texts: (string | null)[] = [];
  readonly #known = new Map<string, string>();
  #buffer = Buffer.alloc(0);
  #used = 0;
  /** Where each text ends in the buffer. */
  #ends: number[] = [];
  #groupsOfBytes = 0;

  add(value: Stored): void {
    if (this.#groupsOfBytes > 0) this.#addBytes(value);
    else this.#addText(value);
  }

  take(): GatheredColumn {
    return this.#groupsOfBytes > 0 ? this.#takeBytes() : this.#takeTexts();
  }

  #addText(value: Stored): void {
    if (typeof value !== 'string') {
      this.#texts.push(null);
      return;
    }
    const known = this.#known.get(value);
    if (known === undefined) this.#known.set(value, value);
    this.#texts.push(known ?? value);
  }

  #takeTexts(): GatheredColumn {
    const data = this.#texts;
    const present = data.filter((text) => text !== null).length;
    const isVaried = this.#known.size > VARIED * present;
    if (isVaried) this.#groupsOfBytes = GROUPS_OF_BYTES;
    this.#texts = [];
    this.#known.clear();
    return isVaried ? { data, encoding: 'PLAIN' } : { data };
  }

  #addBytes(value: Stored): void {
    if (typeof value !== 'string') {
      this.#ends.push(NULL);
      return;
    }
    // UTF-8 needs at most 3 bytes for a unit of UTF-16. Only for a long text it pays to count them.
    this.#makeRoom(value.length > FIRST_BYTES ? Buffer.byteLength(value) : 3 * value.length);
    this.#used += this.#buffer.write(value, this.#used);
    this.#ends.push(this.#used);
  }

  #makeRoom(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * this.#buffer.length, this.#used + bytes));
    larger.set(this.#buffer.subarray(0, this.#used));
    this.#buffer = larger;
  }

  #takeBytes(): GatheredColumn {
    let from = 0;
    const data = this.#ends.map((end) => {
      if (end === NULL) return null;
      const bytes = new Uint8Array(this.#buffer.buffer, from, end - from);
      from = end;
      return bytes;
    });
    this.#ends = [];
    this.#used = 0;
    this.#groupsOfBytes -= 1;
    return { data, encoding: 'PLAIN' };
  }
}

/** Instants in epoch ms, which Parquet stores as 64-bit integers. */
export class InstantGatherer implements Gatherer {
  #ms: number[] = [];

  add(value: Stored): void {
    this.#ms.push(typeof value === 'number' ? value : Number.NaN);
  }

  take(): GatheredColumn {
    const data = this.#ms.map((ms) => (Number.isNaN(ms) ? null : BigInt(ms)));
    this.#ms = [];
    return { data };
  }
}

/** Numbers and booleans. */
export class PlainGatherer implements Gatherer {
  #values: Stored[] = [];

  add(value: Stored): void {
    this.#values.push(value);
  }

  take(): GatheredColumn {
    const data = this.#values;
    this.#values = [];
    return { data };
  }
}
