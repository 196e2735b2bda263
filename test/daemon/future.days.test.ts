import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { sized } from '../support/histories.ts';
import { pagesHouse } from '../support/pages-house.ts';
import { modelsOf } from '../support/prisma-dates.ts';

/**
 * Tables whose instants decide which requests leave, and can lie ahead one without the other. Those of sweeps
 * and pages lie ahead together, and move back together: see `clock-jumps.test.ts`.
 */
const DECIDING = new Set(['gate_state', 'leases', 'rates', 'schedules', 'sync_requests', 'webhooks']);

/** The end of a pause before its beginning: a pause that has ended has no beginning. */
const INSTANTS = modelsOf()
  .filter(({ kind, name }) => kind === 'model' && DECIDING.has(name))
  .flatMap(({ name: table, fields }) =>
    fields.filter(({ type }) => type === 'DateTime').map(({ name: column }) => ({ table, column })),
  )
  .toReversed();

test('no instant of the gate, the lease, schedules, orders, rates or webhooks that lies 400 days ahead stops the daemon', async () => {
  expect(INSTANTS.length).toBeGreaterThan(20);
  const house = await pagesHouse({
    sandbox: { conversations: [60, 40], perDay: 400, activityPerHour: 0.5 },
  });
  const { clock, database, sandbox } = house;
  let running = await house.start();
  await clock.sleep(6 * HOUR);
  for (const { table, column } of INSTANTS) {
    await running.stop();
    await database.execute(
      `UPDATE ${table} SET ${column} = $1`,
      new Date(clock.now() + 400 * DAY).toISOString(),
    );
    const from = sandbox.arrivals.length;
    running = await house.start();
    await clock.sleep(sized(1, 2) * HOUR);
    expect(sandbox.arrivals.length - from, `${table}.${column}`).toBeGreaterThan(5);
  }
  await clock.sleep(DAY);
  expect(await house.late()).toEqual([]);
  expect(house.said(50)).toEqual([]);
});
