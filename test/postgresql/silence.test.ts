import { Socket } from 'node:net';
import { beforeEach, expect, test, vi } from 'vitest';
import { MINUTE } from '../../src/core/clock.ts';
import { listenAndHang } from '../support/cutting-proxy.ts';
import { mirrorOf, temporaryDatabase } from '../support/mirror.ts';
import { freshMirrorFile } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

/** A minute without an answer takes this many ms. On a busy machine, a healthy statement can take 200 ms. */
const SHORT_MINUTE = 300;

// A socket counts real time. No other limit of a socket is as long as a minute.
beforeEach(() => {
  const setTimeout = Socket.prototype.setTimeout;
  const spy = vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(function (this: Socket, ms, call) {
    return setTimeout.call(this, ms < MINUTE ? ms : (ms / MINUTE) * SHORT_MINUTE, call);
  });
  return () => spy.mockRestore();
});

test.each([
  ['the COMMIT of a page', /INTO sweep_pages[^]*COMMIT/],
  ['a statement of a page', /INTO sweep_pages/],
  ['the COMMIT of a slot', /INTO requests[^]*COMMIT/],
])(
  'a sync that gets no answer to %s for minutes ends with a message, and the next one works',
  async (_, text) => {
    const path = await listenAndHang(await freshMirrorFile(), text);
    const mirror = await mirrorOf({ path, sandbox: { conversations: [5] } });
    expect((await mirror.sync()).stopped).toMatchObject({
      code: 'DATABASE',
      message: expect.stringMatching(
        /has left a statement without an answer\. .* \(no answer for 4 min\)\.$/,
      ),
    });
    vi.restoreAllMocks();
    expect((await mirror.sync()).stopped).toBeNull();
    await expectEqualToService(mirror);
  },
);

test('an answer that came while the process was stopped for minutes counts', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  await database.query('SELECT 1');
  const answer = database.query('SELECT 2 AS n');
  await new Promise(setImmediate);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * SHORT_MINUTE);
  expect(await answer).toEqual([{ n: 2 }]);
});
