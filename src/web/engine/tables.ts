import type { FailureRow, OrderRow } from '../../query/figures/engine.ts';
import type { WholeStatus } from '../../status/observe.ts';
import { notBefore, scheduledStandstillOf } from '../../status/sending.ts';
import { html, type Html } from '../frame/html.ts';
import { table } from '../frame/layout.ts';
import { orderPath } from '../frame/links.ts';
import { ago, type Moment, named } from '../frame/words.ts';
import { orderedBy, orderState } from './order.ts';

/** The newest passes that the daemon was asked to do. */
export function ordersTable(orders: readonly OrderRow[], status: WholeStatus, moment: Moment): Html {
  const rows = orders.map((order) => [
    html`<a href="${orderPath(order.id)}">${order.id}: ${order.kind}</a>`,
    order.inbox_id === null ? 'all inboxes' : named(order.inbox, order.inbox_id),
    orderedBy(order),
    ago(order.requested_at, moment),
    orderState(order, status),
  ]);
  const columns = ['Order', 'Inbox', 'By', 'Placed', 'State'].map((name) => ({ name }));
  return table('Orders', columns, rows, 'No order has been placed.');
}

/** When each kind of list is due. */
export function schedulesTable(status: WholeStatus, moment: Moment): Html {
  const { schedules, now } = status;
  const standstill = scheduledStandstillOf(status);
  const next = (at: number): Html | string => {
    if (at === Infinity) return standstill?.why ?? '';
    return at <= now ? 'due now' : ago(new Date(at), moment);
  };
  const rows = schedules.map(({ list, expression, timezone, nextAt }) => [
    list,
    html`<code title="${timezone}">${expression}</code>`,
    next(notBefore(standstill, nextAt.getTime())),
  ]);
  const columns = ['List', 'Schedule', 'Next run'].map((name) => ({ name }));
  return table('Schedules', columns, rows, 'No daemon has stored its schedules yet.');
}

/** The newest failures of one kind. */
export function failuresTable(
  kind: 'requests' | 'sweeps',
  failures: readonly FailureRow[],
  moment: Moment,
): Html {
  const rows = failures.map((row) => [
    ago(row.at, moment),
    row.list === null
      ? ''
      : html`${row.list}${row.inbox_id !== null && html` of ${named(row.inbox, row.inbox_id)}`}`,
    row.error ?? `HTTP ${row.status}`,
  ]);
  const columns = ['When', 'List', 'Error'].map((name) => ({ name }));
  return table(
    `Failed ${kind}`,
    columns,
    rows,
    kind === 'requests' ? 'Every request of the last 24 hours was answered well.' : 'No sweep has failed.',
  );
}
