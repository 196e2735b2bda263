import * as fc from 'fast-check';
import type { TestMirror } from './mirror.ts';
import { syncSettled } from './settle.ts';

/** How the mirror reads the service after some happenings. `settle` accepts all deletions. */
export const READING = fc.constantFrom(
  'settle',
  'settle',
  'sync',
  'page',
  'page',
  'broken',
  'first' as const,
);

/** Reads the service as `reading` says. A broken pass ends after its first pages. */
export async function read(mirror: TestMirror, reading: string, nth: number): Promise<void> {
  if (reading === 'settle') await syncSettled(mirror);
  else if (reading === 'page') {
    const bookmarks = [...(await mirror.writer.bookmarks.all()).values()].flat();
    const bookmark = bookmarks[nth % Math.max(1, bookmarks.length)];
    if (bookmark === undefined) return;
    await mirror
      .readPage(bookmark)
      .catch(() => mirror.writer.bookmarks.lose(bookmark, 'doubt', mirror.clock.now()));
  } else if (reading === 'broken') {
    let left = 2 + (nth % 6);
    mirror.sandbox.script(() => (left-- > 0 ? undefined : { status: 500 }));
    await mirror.sync();
    mirror.sandbox.script(undefined);
  } else await mirror.sync({ kind: reading === 'first' ? 'resync' : 'sync', acceptAccount: true });
}
