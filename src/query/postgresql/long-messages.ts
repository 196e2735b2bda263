import type { Readable } from 'node:stream';
import { messageTooLong, rowTooLong } from '../faults.ts';

/** A message begins with 1 byte for its type and 4 for its length, which counts these 4 and not the type. */
const HEADER_BYTES = 5;
const LENGTH_BYTES = 4;

/** The type of a message that holds a row. */
const DATA_ROW = 'D'.charCodeAt(0);

/** A row's message has at most 4 bytes for each character of the row. */
const BYTES_A_CHARACTER = 4;

/**
 * Ends the connection when a message begins that is longer than `mostCharacters` can be. The driver would
 * keep the whole message in memory, and throws outside of any promise if it cannot make a string of it.
 * @param stream the server's bytes, from the beginning of a message
 * @param mostCharacters of a row. The stream fails with an error `USAGE`.
 */
export function refuseLongMessages(stream: Readable, mostCharacters: number): void {
  const most = BYTES_A_CHARACTER * mostCharacters;
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let bytesToSkip = 0;
  // This listener is the first: the driver's own can throw.
  stream.prependListener('data', (chunk: Buffer) => {
    let at = 0;
    while (at < chunk.length) {
      const skipped = Math.min(bytesToSkip, chunk.length - at);
      bytesToSkip -= skipped;
      const copied = chunk.copy(header, headerBytes, at + skipped);
      headerBytes += copied;
      at += skipped + copied;
      if (headerBytes < HEADER_BYTES) return;
      headerBytes = 0;
      const length = header.readUInt32BE(HEADER_BYTES - LENGTH_BYTES);
      if (length > most) {
        const isRow = header[0] === DATA_ROW;
        stream.destroy(isRow ? rowTooLong(length, most, 'bytes') : messageTooLong(length, most));
        return;
      }
      bytesToSkip = Math.max(0, length - LENGTH_BYTES);
    }
  });
}
