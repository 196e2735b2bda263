import { Client, type ClientConfig } from 'pg';

type Callback = Parameters<Client['connect']>[0];

/**
 * A client of a pool. The driver's own reads the files of certificates when it is made, and a pool makes it
 * in callbacks of its own: a file that is missing for a moment would end the process. Here it fails the
 * connection.
 */
export class PooledClient extends Client {
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
