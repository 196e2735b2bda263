import type { Rows } from './lanes.ts';

interface Version {
  readonly at: number;
  /** null: the row is gone. */
  readonly text: string | null;
}

/** One reading of a lane's copy. */
export interface Observed {
  /** Changes of rows that stayed, and of them those that the copy showed in the end. */
  readonly changes: number;
  readonly seen: number;
  readonly meanSeconds: number;
  readonly longestSeconds: number;
  /** The fewest rows that the reader found, as a share of those at the beginning. */
  readonly leastShare: number;
}

/** Each row's changes since the trial began, and the version that each lane shows. */
export class Observer {
  readonly #versions = new Map<string, Version[]>();
  readonly #seen = new Map<string, { upTo: Map<string, number>; delays: number[]; leastRows: number }>();
  #rows = Infinity;

  /** @param start the rows at the beginning */
  constructor(start: Rows) {
    for (const [key, text] of Object.entries(start)) this.#versions.set(key, [{ at: 0, text }]);
    this.#rows = Object.keys(start).length;
  }

  changed(key: string, version: Version): void {
    const versions = this.#versions.get(key) ?? [{ at: 0, text: null }];
    this.#versions.set(key, [...versions, version]);
  }

  /** Compares a copy with the versions. Each version that the copy has reached was seen at `now`. */
  look(lane: string, rows: Rows, now: number): void {
    const seen = this.#seen.get(lane) ?? { upTo: new Map<string, number>(), delays: [], leastRows: Infinity };
    this.#seen.set(lane, seen);
    seen.leastRows = Math.min(seen.leastRows, Object.keys(rows).length);
    for (const [key, versions] of this.#versions) {
      if (versions.length === 1) continue;
      const from = seen.upTo.get(key) ?? 0;
      const text = rows[key] ?? null;
      // A row that has changed back may not have been read since.
      if (versions[from]!.text === text) continue;
      const reached = versions.findLastIndex((version) => version.text === text);
      for (let nth = from + 1; nth <= reached; nth += 1)
        if (versions[nth]!.text !== null) seen.delays.push(now - versions[nth]!.at);
      if (reached > from) seen.upTo.set(key, reached);
    }
  }

  resultOf(lane: string): Observed {
    const { delays, leastRows } = this.#seen.get(lane) ?? { delays: [], leastRows: 0 };
    const changes = [...this.#versions.values()].flatMap((versions) => versions.slice(1));
    return {
      changes: changes.filter(({ text }) => text !== null).length,
      seen: delays.length,
      meanSeconds: delays.reduce((sum, delay) => sum + delay, 0) / delays.length / 1000,
      longestSeconds: Math.max(...delays) / 1000,
      leastShare: leastRows / this.#rows,
    };
  }
}
