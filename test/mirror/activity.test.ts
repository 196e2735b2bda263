import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { quickMirror } from '../support/template.ts';

const MONDAY = Date.parse('2026-03-02T00:00:00Z');

test('changes of conversations are counted by the hours of their two sightings', async () => {
  const { database, writer } = await quickMirror();
  const change = async (list: string, seen: number | null, observed: number): Promise<void> => {
    await database.execute(
      `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field)
       VALUES ($1, $2, $3, '1', '1', 'status')`,
      iso(MONDAY + observed * MINUTE),
      seen === null ? null : iso(MONDAY + seen * MINUTE),
      list,
    );
  };
  await change('conversations', 61, 179);
  await change('conversations', 119, 120);
  await change('conversations', -30, 5);
  await change('conversations', -50, -10);
  await change('conversations', null, 5);
  await change('tags', 61, 179);

  const spans = await writer.activity(MONDAY);
  expect(spans.toSorted((a, b) => a.first - b.first)).toEqual([
    { first: -1, last: 0, changes: 1 },
    { first: 1, last: 2, changes: 2 },
  ]);
  expect(await writer.activity(MONDAY + HOUR)).toHaveLength(1);
});

test.each(['nonsense', 'null', '{"requests":null,"at":1}', '{"requests":1,"at":9e15}', '{"requests":1}'])(
  'a stored credit of %s counts as none',
  async (value) => {
    const { database, writer } = await quickMirror();
    await writer.saveCredit({ requests: 2, at: MONDAY, anHour: 198 });
    expect(await writer.credit()).toEqual({ requests: 2, at: MONDAY, anHour: 198 });
    await database.execute(`UPDATE settings SET value = $1 WHERE name = 'pace_credit'`, value);
    expect(await writer.credit()).toBeNull();
  },
);

test('a stored credit of an older program, which has no pace, is read', async () => {
  const { database, writer } = await quickMirror();
  await writer.saveCredit({ requests: 2, at: MONDAY, anHour: 198 });
  const value = `{"requests":1.5,"at":${MONDAY}}`;
  await database.execute(`UPDATE settings SET value = $1 WHERE name = 'pace_credit'`, value);
  expect(await writer.credit()).toEqual({ requests: 1.5, at: MONDAY });
});
