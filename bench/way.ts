/** One way of doing the job, opened. `walk` goes over all lists once. */
export interface OpenWay {
  walk(onPage: (rows: number) => void): Promise<{ written: number | null }>;
  /** Asks the database; null where there is none. */
  readonly query: ((sql: string) => Promise<unknown[]>) | null;
  close(): Promise<void>;
}
