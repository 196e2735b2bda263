import { requestsLeft } from '../../core/budget.ts';
import { HOUR, MINUTE } from '../../core/clock.ts';
import { plural, thousands } from '../../core/humanize.ts';
import { readChoices } from '../../query/figures/changes.ts';
import { readFailedRequests, readFailedSweeps, readOrders } from '../../query/figures/engine.ts';
import { isTelling } from '../../status/delay.ts';
import type { WholeStatus } from '../../status/observe.ts';
import { sendingWord, sendingWords, standstillOf, untilWords } from '../../status/sending.ts';
import { barsChart } from '../charts/bars.ts';
import { html, type Html } from '../frame/html.ts';
import { type PageContent, section } from '../frame/layout.ts';
import { ago, hourWords, lasting, lengthOf, type Moment } from '../frame/words.ts';
import type { Visit } from '../pages.ts';
import { failuresTable, ordersTable, schedulesTable } from './tables.ts';
import { listsSection } from './lists.ts';
import { orderForm } from './order-form.ts';
import { troublesOf } from './troubles.ts';

/** `/engine`: how the mirror is kept: budget, delay, gate, lists, orders, errors. */
export async function enginePage({ desk, details, moment, token }: Visit): Promise<PageContent> {
  const status = await details();
  const { orders, inboxes, requests, sweeps } = await desk.quick('engine', async (read) => ({
    orders: await readOrders(read),
    inboxes: (await readChoices(read)).inboxes,
    requests: await readFailedRequests(read, moment.now),
    sweeps: await readFailedSweeps(read),
  }));
  const placing = html`${orderForm(inboxes, token)}${ordersTable(orders, status, moment)}`;
  return {
    title: 'Engine room',
    active: '/engine',
    stamp: html`<p class="stamp">As of ${ago(new Date(status.now), moment)}</p>`,
    body: html`${troublesSection(status, moment)}${totals(status, moment)}
      <div class="columns">${budgetSection(status, moment)}${delaySection(status, moment)}</div>
      ${listsSection(status, moment)}
      <div class="columns">
        ${section('Orders', placing, { note: ordersNote(status) })}
        ${section('Schedules', schedulesTable(status, moment))}
      </div>
      <div class="columns">
        ${section('Failed requests, 24 hours', failuresTable('requests', requests, moment))}
        ${section('Failed sweeps', failuresTable('sweeps', sweeps, moment))}
      </div>`,
  };
}

/** The cost of an order, shown before a person places one. */
function ordersNote({ judged, budget, sent }: WholeStatus): Html {
  const pages = judged.reduce((sum, list) => sum + (list.pages ?? 0), 0);
  return html`A person's order comes before the schedules. To read all lists takes
    ${plural(pages, 'request')}; ${thousands(requestsLeft(budget, sent))} are left today. The commands
    <code>sync</code> and <code>resync</code> place orders too.`;
}

function troublesSection(status: WholeStatus, moment: Moment): Html {
  const troubles = troublesOf(status, moment);
  const standstill = standstillOf(status);
  if (troubles.length === 0)
    return html`<p class="verdict good">
      All ${plural(status.judged.length, 'list')} are
      fresh${
        standstill === null
          ? ', and requests flow'
          : `. Requests are ${sendingWords(standstill, moment.now, moment.timezone)}`
      }.
    </p>`;
  return html`<section class="verdict late" aria-label="Troubles">
    <ul>
      ${troubles.map((trouble) => html`<li>${trouble}</li>`)}
    </ul>
  </section>`;
}

function totals(status: WholeStatus, moment: Moment): Html {
  const { budget, sent, delay, judged, leaseHeld, lease } = status;
  const standstill = standstillOf(status);
  const fresh = judged.filter(({ freshness }) => freshness === 'fresh').length;
  const figures = [
    [
      'Requests, 24 hours',
      thousands(sent),
      `of ${thousands(budget.perDay)}; ${thousands(requestsLeft(budget, sent))} left`,
    ],
    ['Delay of changes', ...delayFigure(delay)],
    ['Fresh lists', `${fresh} of ${judged.length}`, ''],
    [
      'Requests now',
      sendingWord(standstill, moment.now),
      html`${standstill !== null && `${untilWords(standstill, moment.now, moment.timezone)}; `}${
        leaseHeld && lease !== null
          ? html`written by <code>${lease.command}</code> on ${lease.host} for
              ${lasting(lease.acquiredAt, moment)}`
          : 'no process writes'
      }`,
    ],
  ] as const;
  return html`<dl class="totals wordy">
    ${figures.map(
      ([name, value, note]) =>
        html`<div class="total">
          <dt>${name}</dt>
          <dd>${value} <small>${note}</small></dd>
        </div>`,
    )}
  </dl>`;
}

function delayFigure(delay: WholeStatus['delay']): readonly [value: string, note: string] {
  if (delay === null) return ['no change', 'in 24 hours'];
  const changes = plural(delay.changes, 'change');
  if (!isTelling(delay)) return ['too few changes yet', `${changes} in 24 hours`];
  const note = `half of ${changes} were seen within this time, 95\u00A0% within ${lengthOf(delay.p95Ms)}`;
  return [lengthOf(delay.medianMs), note];
}

interface Hour {
  /** Epoch ms of its beginning. */
  readonly from: number;
  readonly value: number;
}

function hoursOf(values: readonly (number | null)[], now: number): Hour[] {
  return values.map((value, index) => ({ from: now - (values.length - index) * HOUR, value: value ?? 0 }));
}

function budgetSection({ spent, budget, now }: WholeStatus, { timezone }: Moment): Html {
  const chart = barsChart<Hour>({
    title: 'Requests by the hour, over 24 hours',
    rows: hoursOf(spent.byHour, now),
    unit: 'From',
    label: ({ from }) => hourWords(from, timezone),
    series: [{ name: 'Requests', colour: 'open', value: ({ value }) => value }],
    empty: 'No request was sent.',
  });
  const parts = [
    [spent.wholeLists, 'for whole lists'],
    [spent.singlePages, 'for single pages'],
    [spent.lookups, 'for questions about rows'],
    [spent.commands, 'for commands'],
  ] as const;
  const words = parts.filter(([count]) => count > 0).map(([count, name]) => `${thousands(count)} ${name}`);
  const note = `${words.join(', ') || 'None yet'}; ${thousands(budget.reserved)} a day are kept for people.`;
  return section('Requests by the hour', chart, { note });
}

function delaySection({ delay, now }: WholeStatus, { timezone }: Moment): Html {
  const chart = barsChart<Hour>({
    title: 'Measured delay by the hour, over 24 hours, in minutes',
    rows: delay === null || !isTelling(delay) ? [] : hoursOf(delay.medianByHour, now),
    unit: 'From',
    label: ({ from }) => hourWords(from, timezone),
    series: [{ name: 'Median delay, minutes', colour: 'pending', value: ({ value }) => value / MINUTE }],
    words: (minutes) => (minutes === 0 ? 'no change' : lengthOf(minutes * MINUTE)),
    empty:
      delay === null
        ? 'No change was seen in the last 24 hours.'
        : 'Too few changes were seen to tell how late they are seen.',
  });
  const note =
    delay === null ? undefined : `${plural(delay.changes, 'change')}: each was seen at most this late.`;
  return section('Measured delay by the hour', chart, { note });
}
