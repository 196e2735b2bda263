import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import type { Dialect } from './dialect.ts';
import type { Sql } from './sql.ts';
import { statementsOn } from './statements.ts';

/** All of `work` or nothing of it, on a connection of its own where there are several. `first` is run before it. */
export async function inTransaction<Result>(
  connection: SqlDriverAdapter,
  dialect: Dialect,
  work: (tx: Sql) => Promise<Result>,
  first: string | null = null,
): Promise<Result> {
  const transaction = await connection.startTransaction();
  const tx = statementsOn(transaction, dialect);
  try {
    if (first !== null) await tx.execute(first);
    const result = await work(tx);
    await tx.execute('COMMIT');
    await transaction.commit();
    return result;
  } catch (error) {
    // A full disk rolls back by itself, as does a connection that broke; then there is nothing left to roll back.
    await tx.execute('ROLLBACK').catch(() => undefined);
    await transaction.rollback();
    throw error;
  }
}
