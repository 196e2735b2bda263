import type { Database } from '../../src/database/database.ts';
import type { TestClock } from './clock.ts';

/**
 * Stops the test clock during each call to the database.
 * Otherwise the clock would advance to the next sleeper while work is still under way.
 */
export function heldDatabase(clock: TestClock, database: Database): Database {
  return {
    ...database,
    query: (text, ...parameters) => clock.hold(() => database.query(text, ...parameters)),
    execute: (text, ...parameters) => clock.hold(() => database.execute(text, ...parameters)),
    transaction: (work, alone) => clock.hold(() => database.transaction(work, alone)),
    typed: (work) => clock.hold(() => database.typed(work)),
  };
}
