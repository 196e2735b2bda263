import type { Socket } from 'node:net';
import { Client, type ClientBase, type ClientConfig } from 'pg';
import { MINUTE } from '../../core/clock.ts';
import { duration } from '../../core/humanize.ts';

type Callback = Parameters<Client['connect']>[0];

/** Connects to the database that `database` names: the driver would prefer its own reading of the address. */
export class MirrorClient extends Client {
  /** The driver's types leave it out. */
  declare readonly connectionParameters: { database: string };

  constructor(config?: ClientConfig) {
    super(config);
    if (config?.database === undefined) return;
    this.connectionParameters.database = config.database;
    this.database = config.database;
  }
}

/**
 * A client of a pool. The driver's own reads the files of certificates when it is made, and a pool makes it
 * in callbacks of its own: a file that is missing for a moment would end the process. Here it fails the
 * connection.
 */
export class PooledClient extends MirrorClient {
  /** Why the client could not be made. Declared only: an initialiser would run after the constructor. */
  declare failure: Error | undefined;

  constructor(config?: ClientConfig) {
    let failure: Error | undefined;
    try {
      super(config);
    } catch (error) {
      super();
      failure = error as Error;
    }
    this.failure = failure;
  }

  override connect(): Promise<Client>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<Client> | void {
    const { failure } = this;
    if (failure === undefined) return callback === undefined ? super.connect() : super.connect(callback);
    if (callback === undefined) return Promise.reject(failure);
    process.nextTick(callback, failure);
  }
}

/**
 * A statement that gets no answer for this many ms fails. The longest ones take seconds, or wait for a lock
 * until `lock_timeout`. A daemon whose loop gets no answer ends earlier (`STUCK_MS`).
 */
const ANSWER_MS = 4 * MINUTE;

/**
 * Ends a connection on which nothing arrives for {@link ANSWER_MS}: its statement fails. A proxy that has
 * lost the server may keep the connection alive for ever. The pool ends idle connections within seconds.
 */
export function endWhenSilent(client: ClientBase): void {
  const stream = (client as Client).connection.stream as Socket;
  stream.setTimeout(ANSWER_MS);
  stream.on('timeout', () => {
    const { bytesRead } = stream;
    // After a stop of the process, an answer that has arrived meanwhile is read first.
    setImmediate(() => {
      if (stream.bytesRead === bytesRead) stream.destroy(new Error(`no answer for ${duration(ANSWER_MS)}`));
    });
  });
}
