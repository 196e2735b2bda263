import { listId } from '../../core/lists.ts';
import type { GateEvent } from '../../service/gate/events.ts';
import type { Log } from '../log.ts';

/**
 * Logs the events that make the gate wait, close or open.
 * @param retries the level of retries, and of waits for the budget
 */
export function logGateEvent(log: Log, event: GateEvent, retries: 'debug' | 'warn'): void {
  if (event.kind === 'retry')
    log[retries](
      {
        ...(event.key === null ? {} : { list: listId(event.key) }),
        cause: event.cause,
        failure: event.failure,
        waitMs: Math.round(event.waitMs),
      },
      'request failed; retrying',
    );
  else if (event.kind === 'day-full')
    log.warn(
      { cause: event.cause, sent: event.sent },
      "the account's day is full before this mirror's budget; it is lowered for a day",
    );
  else if (event.kind === 'slowed')
    log.debug({ until: event.until }, 'after 429s the next request leaves later');
  else if (event.kind === 'spent')
    log[retries]({ until: event.until }, "the day's budget is spent; waiting until a request is free again");
  else if (event.kind === 'opened') log.info('the service answers again; the pause is over');
  else if (event.kind === 'key-refused') log.error({ cause: event.cause }, 'the service refused the API key');
  else if (event.kind === 'clock')
    log.warn({ cause: event.cause }, 'the time before this start is not confirmed');
  else if (event.kind === 'breaker')
    log.error(
      { cause: event.cause, until: event.until },
      'ALERT: repeated 429s; no request is sent before the time in `until`',
    );
  else log.warn({ cause: event.cause, until: event.until }, 'the service asks to wait; pausing');
}
