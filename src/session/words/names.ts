import type { Mirror } from '../../mirror/mirror.ts';
import type { PassEvent } from '../../sync/events.ts';
import { asCell } from '../terminal.ts';

/** The names of the inboxes, for progress and log lines. */
export interface InboxNames {
  /**
   * The inbox's name without control characters; null if it has none, or it is unknown. An unknown one is
   * looked up for the next call.
   */
  of(id: string): string | null;
  /** Reads the names again after a sweep of the inboxes. */
  after(event: PassEvent): void;
}

/** Reads the names of the inboxes. @throws MirrorError `DATABASE` */
export async function openInboxNames(mirror: Pick<Mirror, 'inboxes'>): Promise<InboxNames> {
  let names = new Map<string, string | null>();
  let isReading = false;
  const read = async (): Promise<void> => {
    names = new Map(
      (await mirror.inboxes()).map(({ id, name }) => [id, name === null ? null : asCell(name)]),
    );
  };
  const readAgain = (): void => {
    if (isReading) return;
    isReading = true;
    // Without an answer the ids stay: the next operation that needs the database reports its failure.
    void read()
      .catch(() => undefined)
      .finally(() => (isReading = false));
  };
  await read();
  return {
    of(id) {
      if (!names.has(id)) readAgain();
      return names.get(id) ?? null;
    },
    after(event) {
      if (event.kind === 'list-done' && event.report.key.list === 'inboxes') readAgain();
    },
  };
}
