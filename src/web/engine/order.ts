import { plural, thousands, whenDue } from '../../core/humanize.ts';
import { type OrderRow, type OrderSweepRow, readOrder, readOrderSweeps } from '../../query/figures/engine.ts';
import type { JudgedStatus } from '../../status/judge.ts';
import { html, type Html } from '../frame/html.ts';
import { factsList, type PageContent, section, table } from '../frame/layout.ts';
import { cancelPath, inboxPath } from '../frame/links.ts';
import { ago, type Moment, named } from '../frame/words.ts';
import type { Visit } from '../pages.ts';
import { BY_PAGE } from './order-form.ts';

/** The page of an order under way loads itself again after this many seconds. */
const FOLLOW_S = 3;

/** `/engine/orders/ID`: an order, its lists, and the button that cancels it. */
export async function orderPage({ desk, moment, params, status, token }: Visit): Promise<PageContent | null> {
  const { order: id = '' } = params;
  if (!/^\d{1,9}$/.test(id)) return null;
  const found = await desk.quick(`order ${id}`, async (read) => {
    const order = await readOrder(read, Number(id));
    return { order, sweeps: order === null ? [] : await readOrderSweeps(read, order) };
  });
  if (found.order === null) return null;
  const { order, sweeps } = found;
  const isOpen = isUnderWay(order);
  const state = orderState(order, await status());
  return {
    title: `Order ${id}`,
    active: '/engine',
    trail: [{ href: '/engine', name: 'Engine room' }],
    stamp: html`<p class="stamp">As of ${ago(new Date(moment.now), moment)}</p>`,
    refresh: isOpen ? FOLLOW_S : undefined,
    body: html`<div class="columns">
      ${section('Order', html`${facts(order, state, moment)}${isOpen && cancelForm(order, token)}`)}
      ${section('Its lists', sweepsTable(order, sweeps))}
    </div>`,
  };
}

/** True if the order waits or the daemon carries it out. */
function isUnderWay({ state }: OrderRow): boolean {
  return state === 'open' || state === 'running';
}

/** The origin of an order: a command, or a person with the form of the web pages. */
export function orderedBy({ requested_by: by }: OrderRow): Html {
  return by === BY_PAGE ? html`${by}` : html`<code><bdi>${by}</bdi></code>`;
}

/** The state of an order in words. `orderWait` is why the daemon waits with an order that it has begun. */
export function orderState(
  { state, error, before }: OrderRow,
  { orderWait, now }: Pick<JudgedStatus, 'orderWait' | 'now'>,
): Html {
  if (state === 'open') return before > 0 ? html`waits behind ${plural(before, 'order')}` : html`waits`;
  if (state === 'running')
    return orderWait === null
      ? html`under way`
      : html`waits (${orderWait.kind}), resumes ${whenDue(orderWait.until, now)}`;
  if (state === 'done') return html`done`;
  // The error says who has ended it.
  if (state === 'abandoned') return html`${error ?? 'cancelled'}`;
  return html`<strong class="late">${state}${error !== null && `: ${error}`}</strong>`;
}

function facts(order: OrderRow, state: Html, moment: Moment): Html {
  return factsList([
    ['Order', html`<code>${order.kind}</code>`],
    [
      'Inbox',
      order.inbox_id === null
        ? html`all inboxes`
        : html`<a href="${inboxPath(order.inbox_id)}">${named(order.inbox, order.inbox_id)}</a>`,
    ],
    ['By', orderedBy(order)],
    ['Placed', ago(order.requested_at, moment)],
    ['Begun', order.started_at === null ? html`not yet` : ago(order.started_at, moment)],
    ...(order.finished_at === null ? [] : [['Ended', ago(order.finished_at, moment)] as const]),
    ['State', state],
  ]);
}

function cancelForm({ id, state }: OrderRow, token: Html): Html {
  return html`<form method="post" action="${cancelPath(id)}" class="act">
    ${token}<button>Cancel this order</button>
    ${state === 'running' && html`<p class="note">The daemon stops it after the pages that it reads now.</p>`}
  </form>`;
}

/** How far the order has read a list, in words. */
function sweepState({ state, error, pages }: OrderSweepRow, order: OrderRow): Html {
  if (state === 'complete') return html`complete`;
  // The daemon keeps the sweep of a cancelled order, to continue it later.
  if (state === 'running' && isUnderWay(order)) return html`reading`;
  if (state === 'abandoned') return html`replaced by a later reading`;
  if (state === 'failed' || isUnderWay(order))
    return html`<strong class="late">${state === 'failed' ? 'failed' : 'waits'}: ${error}</strong>`;
  return pages === 0 ? html`not read` : html`read in part; the next reading continues there`;
}

function sweepsTable(order: OrderRow, sweeps: readonly OrderSweepRow[]): Html {
  const rows = sweeps.map((sweep) => [
    sweep.inbox_id === null ? 'all' : named(sweep.inbox, sweep.inbox_id),
    sweep.list,
    thousands(sweep.pages),
    thousands(sweep.items),
    thousands(sweep.inserted),
    thousands(sweep.changed),
    thousands(sweep.deleted),
    sweepState(sweep, order),
  ]);
  const columns = [
    { name: 'Inbox' },
    { name: 'List' },
    ...['Pages', 'Rows', 'New', 'Changed', 'Deleted'].map((name) => ({ name, number: true })),
    { name: 'State' },
  ];
  const empty = order.started_at === null ? 'The daemon has not begun it.' : 'No list has been read yet.';
  return table('Lists of the order', columns, rows, empty);
}
