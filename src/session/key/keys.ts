import type { Config } from '../config/config.ts';

/** The API key in use. A key in a file, or in `.env`, may change while the program runs. */
export interface Keys {
  current(): string;
  /** Every key that has been in use. No output may contain one. */
  seen(): readonly string[];
  /** Reads the key again. @returns whether the key has changed. @throws MirrorError `CONFIG` */
  reload(): boolean;
}

export function createKeys(config: Config, reread: (inUse: string) => string | null): Keys {
  const seen = config.key === null ? [] : [config.key];
  return {
    current: () => seen.at(-1) ?? '',
    seen: () => seen,
    reload() {
      const key = reread(seen.at(-1) ?? '');
      if (key === null || key === seen.at(-1)) return false;
      seen.push(key);
      return true;
    },
  };
}
