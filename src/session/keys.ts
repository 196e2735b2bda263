import type { Config } from './config/config.ts';
import type { rereadKey } from './config/secrets.ts';

/** The API key in use. One that lies in a file may change while the program runs. */
export interface Keys {
  current(): string;
  /** Every key that was in use, for putting out of what is written. */
  seen(): readonly string[];
  /** Reads the key file again. @returns whether the key is another one. @throws MirrorError `CONFIG` */
  reload(): boolean;
}

export function openKeys(config: Config, reread: () => ReturnType<typeof rereadKey>): Keys {
  const seen = config.key === null ? [] : [config.key];
  return {
    current: () => seen.at(-1) ?? '',
    seen: () => seen,
    reload() {
      const key = reread();
      if (key === null || key === seen.at(-1)) return false;
      seen.push(key);
      return true;
    },
  };
}
