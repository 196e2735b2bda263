/** An opened way (see `Way`). `walk` reads all lists once. */
export interface OpenWay {
  walk(onPage: (rows: number) => void): Promise<{ written: number | null }>;
  /** Queries the database; null: the way has none. */
  readonly query: ((sql: string) => Promise<unknown[]>) | null;
  close(): Promise<void>;
}
