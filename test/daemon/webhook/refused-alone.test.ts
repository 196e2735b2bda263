import { describe, expect, test } from 'vitest';
import type { Feed } from '../../../src/mirror/history/feed.ts';
import { targetOf } from '../../../src/mirror/history/deliveries.ts';
import { quickMirror } from '../../support/template.ts';
import { BEGUN, changed, deliver, receiver, until } from './receiver.ts';

describe('a change that the receiver refuses alone', () => {
  test.each([400, 413])('with %i is set aside, and all others arrive in order', async (refusal) => {
    const mirror = await quickMirror();
    await mirror.sync();
    let poison = Number.NaN;
    const { url, taken } = await receiver((_nth, ids) => ({ status: ids.includes(poison) ? refusal : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    const all = await changed(mirror, 200);
    poison = all[Math.floor(all.length / 3)]!;
    const from = mirror.clock.now();
    const { lines } = deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(taken.flatMap(({ changes }) => changes)).toEqual(all.filter((id) => id !== poison));
    expect(mirror.clock.now() - from).toBeLessThan(3_600_000);
    const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(said.filter(({ level }) => Number(level) >= 30)).toEqual([
      expect.objectContaining({ cause: `HTTP ${refusal}`, msg: expect.stringContaining('delivery failed') }),
      expect.objectContaining({
        change: poison,
        cause: `HTTP ${refusal}`,
        msg: 'the webhook refuses this change alone and accepts a later one: it is set aside',
      }),
    ]);
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({
      setAside: 1,
      setAsideId: poison,
    });
    // The deliveries are large again.
    const more = (await changed(mirror, 200)).slice(all.length);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === more.at(-1));
    expect(Math.max(...taken.map(({ changes }) => changes.length))).toBeGreaterThan(50);
  });

  test.each([
    ['every third one', (nth: number) => nth % 3 === 1],
    ['the first ten in a row', (nth: number) => nth < 10],
  ])(
    'costs less than a minute each, also where a kind of change is refused: %s',
    async (_which, isRefused) => {
      const mirror = await quickMirror();
      await mirror.sync();
      const refused = new Set<number>();
      const { url, taken } = await receiver((_nth, ids) => ({
        status: ids.some((id) => refused.has(id)) ? 400 : 204,
      }));
      await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
      const all = await changed(mirror, 30);
      for (const id of all.filter((_, nth) => isRefused(nth))) refused.add(id);
      const from = mirror.clock.now();
      deliver(mirror, url);
      const accepted = all.filter((id) => !refused.has(id));
      await until(mirror, () => taken.at(-1)?.changes.at(-1) === accepted.at(-1));
      expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(accepted));
      expect(mirror.clock.now() - from).toBeLessThan(refused.size * 60_000);
    },
  );

  test('is not set aside if the receiver accepts every change by then', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    // It is alone three times, and then two later ones are tried.
    const { url, taken, asked } = await receiver((nth) => ({ status: nth <= 12 ? 400 : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    let all: number[] = [];
    while (all.length < 100) all = await changed(mirror, 100);
    deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(new Set(asked.slice(7, 10)).size).toBe(1);
    expect(taken.slice(0, 2).map(({ changes }) => changes)).toEqual([[all[3]], [all[0]]]);
    expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(all));
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ setAside: 0 });
  });

  test.each([429, 503])('is not set aside by a %i after a later one was accepted', async (status) => {
    const mirror = await quickMirror();
    await mirror.sync();
    // It is alone three times, a later one is accepted, and the receiver is then too busy for a moment.
    const { url, taken } = await receiver((nth) => ({ status: nth <= 12 ? 400 : nth === 14 ? status : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    let all: number[] = [];
    while (all.length < 100) all = await changed(mirror, 100);
    deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(all));
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ setAside: 0 });
  });

  test.each([
    ['429', 'a second', 1000],
    ['503', 'ten seconds', 10_000],
  ])(
    'is set aside by a receiver that answers %s to more than one delivery in %s',
    async (busy, _in, gapMs) => {
      const mirror = await quickMirror();
      await mirror.sync();
      const poison = new Set<number>();
      let last = Number.NEGATIVE_INFINITY;
      const { url, taken } = await receiver((_nth, ids) => {
        const now = mirror.clock.now();
        if (now - last < gapMs) return { status: Number(busy) };
        last = now;
        return { status: ids.some((id) => poison.has(id)) ? 400 : 204 };
      });
      await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
      const all = await changed(mirror, 60);
      const rows = await mirror.database.query<{ id: number }>(
        `SELECT id FROM changes WHERE item_values IS NOT NULL AND id > $1 ORDER BY id LIMIT 1`,
        all[0],
      );
      poison.add(all[0]!).add(rows[0]!.id);
      const accepted = all.filter((id) => !poison.has(id));
      const from = mirror.clock.now();
      deliver(mirror, url);
      await until(mirror, () => taken.at(-1)?.changes.at(-1) === accepted.at(-1), 10_000);
      expect(new Set(taken.flatMap(({ changes }) => changes))).toEqual(new Set(accepted));
      expect(mirror.clock.now() - from).toBeLessThan(3_600_000);
    },
  );

  test('is set aside although every later one was refused for a while', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    let all: number[] = [];
    let isOutage = true;
    const { url, taken } = await receiver((_nth, ids) => {
      if (isOutage && ids.length === 1 && ids[0] === all.at(-1)) isOutage = false;
      return { status: isOutage || ids.includes(all[0]!) || ids.includes(all.at(-1)!) ? 400 : 204 };
    });
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    all = await changed(mirror, 30);
    deliver(mirror, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-2));
    expect([...new Set(taken.flatMap(({ changes }) => changes))]).toEqual(all.slice(1, -1));
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ setAsideId: all[0] });
  });

  test('is set aside although long values let only a few of the later ones be read at once', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    let all: number[] = [];
    const { url, taken } = await receiver((_nth, ids) => ({
      status: ids.some((id) => id !== all.at(-1)) ? 413 : 204,
    }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    all = await changed(mirror, 30);
    const { feed } = mirror.writer;
    const after: Feed['after'] = (place, filter, limit) => feed.after(place, filter, Math.min(limit, 4));
    deliver({ ...mirror, writer: { ...mirror.writer, feed: { after } as Feed } }, url);
    await until(mirror, () => taken.length > 0, 60_000);
    expect(taken[0]!.changes).toEqual([all.at(-1)]);
  });

  test('is found as well if no text can hold it', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    const { url, taken } = await receiver();
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    const all = await changed(mirror, 30);
    const tooLong = {
      toJSON: () => {
        throw new RangeError('Invalid string length');
      },
    };
    const { feed } = mirror.writer;
    const after: Feed['after'] = async (...place) =>
      (await feed.after(...place)).map((change) =>
        change.id === all[3] ? { ...change, itemValues: tooLong as never } : change,
      );
    deliver({ ...mirror, writer: { ...mirror.writer, feed: { after } as Feed } }, url);
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
  });

  test('waits while the receiver refuses the next one too', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    let refuses = true;
    const { url, taken, asked } = await receiver(() => ({ status: refuses ? 400 : 204 }));
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    const all = await changed(mirror, 30);
    const { lines } = deliver(mirror, url);
    await until(mirror, () => asked.length > 9);
    expect(await mirror.writer.deliveries.read(targetOf(url))).toMatchObject({ lastId: 0, setAside: 0 });
    expect(lines.length).toBe(1);
    // The later ones have been tried by then, and the next attempt comes minutes later.
    await mirror.clock.sleep(60_000);
    refuses = false;
    await until(mirror, () => taken.at(-1)?.changes.at(-1) === all.at(-1));
    expect(taken.flatMap(({ changes }) => changes)).toEqual(all);
  });
});
