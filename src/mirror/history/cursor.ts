/** A place in the feed: after the change with this id, or before the first one at 0. */
export interface Cursor {
  readonly id: number;
  /** The epoch of that change; null: a plain id, which fits every epoch. */
  readonly epoch: string | null;
}

/** Twelve hexadecimal digits. An id of 15 digits is exact in a JavaScript number. */
const CURSOR = /^(\d{1,15})(?:-([0-9a-f]{12}))?$/;

/** Reads `4712-3f9c0a7b21de` or a plain id; null if the text is neither. */
export function readCursor(text: string): Cursor | null {
  const [, id, epoch = null] = CURSOR.exec(text) ?? [];
  return id === undefined ? null : { id: Number(id), epoch };
}

/** The cursor as text. A change that was written before there were epochs has its plain id. */
export function cursorText({ id, epoch }: Cursor): string {
  return epoch === null ? String(id) : `${id}-${epoch}`;
}
