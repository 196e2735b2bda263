import type { LogLevel } from '../../src/session/config/config.ts';
import { createLog, type Log, type LogOptions } from '../../src/session/log.ts';

/** A log of JSON lines and the lines that it has written. With its own `write`, `lines` stays empty. */
export function testLog(
  level: LogLevel = 'info',
  options: Partial<Omit<LogOptions, 'level'>> = {},
): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({
    level,
    secrets: () => [],
    write: (line) => lines.push(line),
    prettify: null,
    ...options,
  });
  return { log, lines };
}
