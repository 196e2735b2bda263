/** The days whose changes count, epoch ms. */
export interface Measured {
  readonly from: number;
  readonly until: number;
}

/** How long the changes at the service waited until their rows were read. */
export class Staleness {
  readonly #measured: Measured;
  /** The unread changes of each row, oldest first. */
  readonly #unread = new Map<string, number[]>();
  readonly delays: number[] = [];
  #staleMs = 0;
  #rows: number;
  #rowsMs = 0;
  #countedUntil: number;

  /** @param rows rows at the service when the measured days begin, or before */
  constructor(measured: Measured, rows: number) {
    this.#measured = measured;
    this.#rows = rows;
    this.#countedUntil = measured.from;
  }

  changed(row: string, at: number, isNew: boolean): void {
    const unread = this.#unread.get(row);
    if (unread === undefined) this.#unread.set(row, [at]);
    else unread.push(at);
    if (isNew) {
      this.#countRows(at);
      this.#rows += 1;
    }
  }

  read(row: string, now: number): void {
    const unread = this.#unread.get(row);
    if (unread === undefined) return;
    this.#unread.delete(row);
    for (const at of unread) if (this.#isMeasured(at)) this.delays.push(now - at);
    this.#staleMs += this.#overlap(unread[0]!, now);
  }

  /** Measured changes that are not read yet. */
  get unread(): number {
    return [...this.#unread.values()].flat().filter((at) => this.#isMeasured(at)).length;
  }

  /** The share of rows whose state was read, on average over the measured days. */
  currentShare(): number {
    this.#countRows(this.#measured.until);
    let staleMs = this.#staleMs;
    for (const [since] of this.#unread.values()) staleMs += this.#overlap(since!, this.#measured.until);
    return 1 - staleMs / this.#rowsMs;
  }

  #countRows(at: number): void {
    this.#rowsMs += this.#rows * this.#overlap(this.#countedUntil, at);
    this.#countedUntil = Math.max(this.#countedUntil, at);
  }

  #isMeasured(at: number): boolean {
    return at >= this.#measured.from && at < this.#measured.until;
  }

  #overlap(from: number, to: number): number {
    return Math.max(0, Math.min(to, this.#measured.until) - Math.max(from, this.#measured.from));
  }
}

/** The results of a policy on one trace. */
export interface Outcome {
  /** Milliseconds from each measured change until its row is next read. */
  readonly delays: readonly number[];
  /** Changes that were not read in time. */
  readonly unread: number;
  readonly currentShare: number;
  /** Requests in each hour of the measured days. */
  readonly byHour: readonly number[];
  /** Requests that the service refused, and requests beyond its cap of any 24 hours; null if simulated. */
  readonly violations: { readonly refused: number; readonly overCap: number } | null;
}
