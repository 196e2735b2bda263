// The thread of `thread.ts`.
import { workerData } from 'node:worker_threads';
import { failureOf } from '../query/sqlite/failure.ts';
import { toStarter } from '../query/sqlite/loaded.ts';
import { openSqliteReadOnly } from '../query/sqlite/reader.ts';
import type { Report, Task } from './thread.ts';
import { writeFiles } from './write.ts';

/** The progress is reported at most once in this many ms. */
const REPORTED_MS = 100;

const { path, options, names } = workerData as Task;
const starter = toStarter();
starter.postMessage(await exported());

async function exported(): Promise<Report> {
  let reportedAt = 0;
  const onRows = (table: string, rows: number): void => {
    if (performance.now() - reportedAt < REPORTED_MS) return;
    reportedAt = performance.now();
    starter.postMessage({ table, rows } satisfies Report);
  };
  try {
    const mirror = openSqliteReadOnly(path);
    try {
      return { written: await writeFiles(mirror, { ...options, onRows }, names) };
    } finally {
      await mirror.close();
    }
  } catch (error) {
    return failureOf(error);
  }
}
