import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { isMirrorError } from '../../../src/core/errors.ts';
import { refuseLongMessages } from '../../../src/query/postgresql/long-messages.ts';

/** A row of 25 characters: a message whose length is at most 100. */
const MOST_CHARACTERS = 25;

/** A message whose length, which counts its own 4 bytes, is `length`. The body looks like long messages. */
function message(type: string, length: number): Buffer {
  const bytes = Buffer.alloc(1 + length, 0xff);
  bytes.write(type, 'latin1');
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

/**
 * Sends chunk after chunk until the stream ends.
 * @returns the message of its error, or null, and the number of chunks sent
 */
async function receive(chunks: readonly Buffer[]): Promise<{ error: string | null; sent: number }> {
  const stream = new Readable({ read: () => undefined });
  // The driver's listener makes the stream flow.
  stream.on('data', () => undefined);
  refuseLongMessages(stream, MOST_CHARACTERS);
  const ended = finished(stream).then(
    () => null,
    (failure: unknown) => {
      if (isMirrorError(failure, 'USAGE')) return failure.message;
      throw failure;
    },
  );
  let sent = 0;
  for (const chunk of chunks) {
    if (stream.destroyed) break;
    stream.push(chunk);
    sent += 1;
    // The stream passes the chunk to its listeners.
    await setImmediate();
  }
  if (!stream.destroyed) stream.push(null);
  return { error: await ended, sent };
}

/** Each byte in a chunk of its own. */
function single(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (byte) => Buffer.from([byte]));
}

const TOO_LONG =
  'A row of the answer has 101 bytes, and at most 100 are allowed here. ' +
  'Ask for fewer columns, or for substr(…) of the long one.';

test('a row at the bound passes, and a row of one byte more is refused', async () => {
  expect(await receive([message('D', 100)])).toEqual({ error: null, sent: 1 });
  expect((await receive([message('D', 101)])).error).toBe(TOO_LONG);
});

test('a long row is refused by its header, before the rest of it arrives', async () => {
  const row = message('D', 101);
  const chunks = [row.subarray(0, 5), ...single(row.subarray(5))];
  expect(await receive(chunks)).toEqual({ error: TOO_LONG, sent: 1 });
});

test('headers are found wherever the chunks are cut', async () => {
  const short = Buffer.concat([message('T', 30), message('D', 100), message('C', 4), message('Z', 5)]);
  const all = Buffer.concat([short, message('D', 101)]);
  for (let cut = 1; cut < all.length; cut += 1)
    expect((await receive([all.subarray(0, cut), all.subarray(cut)])).error, `cut at ${cut}`).toBe(TOO_LONG);
  expect(await receive(single(all))).toEqual({ error: TOO_LONG, sent: short.length + 5 });
  expect(await receive(single(short))).toEqual({ error: null, sent: short.length });
});

test('many messages in one chunk pass, and a long one after them is refused', async () => {
  const many = Array.from({ length: 1000 }, (_, index) => message('D', 4 + (index % 97)));
  expect((await receive([Buffer.concat(many)])).error).toBeNull();
  expect((await receive([Buffer.concat([...many, message('D', 101), ...many])])).error).toBe(TOO_LONG);
});

test('a long error of the server is refused like a row', async () => {
  expect((await receive([message('E', 101)])).error).toBe(
    'The database answered with an error or a notice of 101 bytes, and at most 100 are allowed ' +
      'here. It repeats a value of the statement: use substr(…) of the long one.',
  );
});
