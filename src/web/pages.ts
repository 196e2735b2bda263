import helmet from '@fastify/helmet';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import type { JudgedStatus } from '../status/judge.ts';
import type { WholeStatus } from '../status/observe.ts';
import { openLane } from '../query/figures/lane.ts';
import type { BoundedRows } from '../query/reads/bounded.ts';
import { openQuestions } from '../query/reads/question.ts';
import type { Log } from '../session/log.ts';
import { sendPage, sendText, wantsPage, whenClosed } from './frame/answer.ts';
import { readAssets } from './frame/assets.ts';
import { type Desk, openDesk } from './frame/desk.ts';
import { createFormTokens, readForms } from './frame/forms.ts';
import type { Html } from './frame/html.ts';
import { faultPage, type Frame, type PageContent, pageOf } from './frame/layout.ts';
import { queryOf } from './frame/links.ts';
import { isForeign, POLICY } from './frame/origin.ts';
import type { Moment } from './frame/words.ts';
import { addDownloads } from './ask/downloads.ts';
import { addLiveFeed } from './changes/live.ts';
import { addOrders, type OrderBook } from './engine/order-form.ts';
import { addLogin, type Door } from './login/routes.ts';
import type { Sessions } from './login/session.ts';

export interface PagesOptions {
  /** The mirror's database, which the pages read over connections of their own. */
  readonly databaseUrl: string;
  /** REPORT_TIMEZONE. */
  readonly timezone: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  readonly version: string;
  readonly door: Door;
  /** Null if no token is needed. */
  readonly sessions: Sessions | null;
  readonly status: () => Promise<JudgedStatus>;
  /** The status with what takes longer to read. */
  readonly details: () => Promise<WholeStatus>;
  /** The place after the newest change. Its readers share one read a second. */
  readonly newest: () => Promise<{ readonly id: number }>;
  readonly orders: OrderBook;
  /** Why the database does not let the daemon work; null if it does. */
  readonly fault: () => string | null;
  /** The answer at `/` for programs: a list of the endpoints. */
  readonly index: string;
}

/** The input of a page. */
export interface Visit extends Pick<PagesOptions, 'status' | 'details'> {
  readonly desk: Desk;
  readonly moment: Moment;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The hidden field of a form that places or cancels an order. */
  readonly token: Html;
  /** Answers a person's SQL. */
  readonly ask: (sql: string, mostRows: number) => Promise<BoundedRows>;
}

/** Makes a page. Null: the mirror has no such thing. @throws MirrorError `DATABASE` */
export type WebPage = (visit: Visit) => Promise<PageContent | null>;

/** Each page is loaded with its first visit, so that a daemon without visitors does not carry it. */
const PAGES: Readonly<Record<string, () => Promise<WebPage>>> = {
  '/': async () => (await import('./overview/page.ts')).overviewPage,
  '/inboxes/:inbox': async () => (await import('./inbox/page.ts')).inboxPage,
  '/inboxes/:inbox/conversations/:conversation': async () =>
    (await import('./conversation/page.ts')).conversationPage,
  '/people': async () => (await import('./people/page.ts')).peoplePage,
  '/feed': async () => (await import('./changes/page.ts')).feedPage,
  '/ask': async () => (await import('./ask/page.ts')).askPage,
  '/engine/orders/:order': async () => (await import('./engine/order.ts')).orderPage,
  '/engine': async () => (await import('./engine/page.ts')).enginePage,
};

const A_YEAR = 'public, max-age=31536000, immutable';

/** Adds the web pages (docs/http.md). They only read, orders aside. */
export async function addPages(server: FastifyInstance, options: PagesOptions): Promise<void> {
  await server.register(async (web) => {
    const { databaseUrl, clock, log, version, door, sessions } = options;
    await web.register(helmet, {
      contentSecurityPolicy: { useDefaults: false, directives: POLICY },
      // It is for the proxy in front of the daemon to promise TLS.
      strictTransportSecurity: false,
      referrerPolicy: { policy: 'no-referrer' },
    });
    const assets = await readAssets();
    const frame: Frame = { assets, version, canLogOut: false };
    for (const { path, type, content } of Object.values(assets))
      web.get(path, async (request, reply) => {
        return await sendText(request, reply.type(type).header('cache-control', A_YEAR), content);
      });
    readForms(web);
    if (sessions !== null) addLogin(web, { door, sessions, frame });
    const lanes = { quick: openLane(databaseUrl), history: openLane(databaseUrl) };
    web.addHook('onClose', async () => {
      await Promise.all([lanes.quick.close(), lanes.history.close()]);
    });
    handleErrors(web, frame, log);
    const desk = openDesk({ clock, log, lanes });
    await web.register(async (inside) =>
      addInside(inside, { ...frame, canLogOut: door.isNeeded }, desk, options),
    );
  });
}

/** Answers every failure with a page that says what to do. */
function handleErrors(web: FastifyInstance, frame: Frame, log: Log): void {
  web.setErrorHandler(async (error: Partial<FastifyError>, request, reply) => {
    const status = isMirrorError(error) ? 503 : (error.statusCode ?? 500);
    if (status === 500) log.error({ cause: error.stack ?? error.message }, 'a page failed');
    const [title, sentence] = isMirrorError(error)
      ? ['The mirror does not answer', error.message]
      : status === 500
        ? ['This page failed', 'The log has the cause. Reload the page; if it fails again, report it.']
        : ['This request is wrong', 'Use the links and forms of these pages.'];
    return await sendPage(request, reply.code(status), faultPage(title, sentence, frame));
  });
}

/** Adds what only people may see who may read the mirror. */
function addInside(inside: FastifyInstance, frame: Frame, desk: Desk, options: PagesOptions): void {
  const { databaseUrl, timezone, clock, door, status, details, newest, orders, fault, index } = options;
  inside.addHook('onRequest', async (request, reply) => await admit(request, reply, { door, frame }));
  const questions = openQuestions(databaseUrl);
  inside.addHook('onClose', () => questions.close());
  addDownloads(inside, questions);
  const tokens = createFormTokens();
  addOrders(inside, { desk, clock, orders, fault, tokens, frame });
  addLiveFeed(inside, { desk, clock, timezone, newest });
  for (const [path, load] of Object.entries(PAGES)) {
    inside.get(path, async (request, reply) => {
      if (path === '/' && !wantsPage(request))
        return await reply.type('text/plain; charset=utf-8').send(index);
      const left = whenClosed(reply);
      const visit: Visit = {
        desk,
        status,
        details,
        moment: { now: clock.now(), timezone },
        params: request.params as Record<string, string>,
        token: tokens.field(request),
        query: queryOf(request),
        ask: (sql, mostRows) => questions.ask(sql, mostRows, left),
      };
      const content = await contentOf(await load(), visit, request).catch((error: unknown) => {
        if (left.aborted && error === left.reason) return undefined;
        throw error;
      });
      // The person has left, so nothing can be sent.
      if (content === undefined) return reply.hijack();
      if (content !== null)
        return await sendPage(request, reply, pageOf(content, { ...frame, fault: fault() }));
      const sentence =
        'The mirror has nothing under this address. It may have been deleted long ago, or mistyped.';
      return await sendPage(request, reply.code(404), faultPage('Not found', sentence, frame));
    });
  }
}

/** Null also for an address with a NUL: no text of the mirror has one, and PostgreSQL refuses it. */
async function contentOf(page: WebPage, visit: Visit, { url }: FastifyRequest): Promise<PageContent | null> {
  return url.includes('%00') ? null : await page(visit);
}

/** Sends people without the token to the form, and refuses what another site's page asks for. */
async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { door, frame }: { door: Door; frame: Frame },
): Promise<FastifyReply | undefined> {
  // The list of the endpoints is for everyone.
  if (request.routeOptions.url === '/' && !wantsPage(request)) return undefined;
  if (isForeign(request)) {
    const sentence = 'Another site asked for this page in your name. Open it yourself.';
    return await sendPage(request, reply.code(403), faultPage('Not from there', sentence, frame));
  }
  if (door.accepts(request)) return undefined;
  const to = request.method === 'POST' ? '/' : request.url;
  return await reply.redirect(`/login?to=${encodeURIComponent(to)}`, 303);
}
