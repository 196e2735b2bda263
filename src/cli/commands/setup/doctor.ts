import type { Command } from 'commander';
import { SECOND } from '../../../core/clock.ts';
import { EXIT, exitCodeOf, isMirrorError, messageOf, messageWithoutAdvice } from '../../../core/errors.ts';
import { foreignUse, judgeGate } from '../../../core/gate-state.ts';
import { thousands, duration, plural } from '../../../core/humanize.ts';
import { withoutKey } from '../../../core/secrets.ts';
import type { Session } from '../../../session/session.ts';
import { type Io, paint, printJson, printLine, wrapped } from '../../../session/terminal.ts';
import { jsonOption, type Runner } from '../../options.ts';

/** Warns of a clock that differs by more than 5 s from the service's, whose `Date` has whole seconds. */
const CLOCK_TOLERANCE_MS = 5 * SECOND;

interface DoctorOptions {
  readonly resetGate?: boolean;
  readonly newEpoch?: boolean;
  readonly verify?: boolean;
  readonly webhook?: boolean;
  readonly json?: boolean;
}

type Ping = Awaited<ReturnType<Session['client']['ping']>>;

interface Check {
  readonly name: string;
  readonly verdict: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
}

export function addDoctor(program: Command, run: Runner): void {
  program
    .command('doctor')
    .summary('check configuration, database, service and clock')
    .description(
      'Checks everything that a sync needs, with one request, and prints how to correct each fault.',
    )
    .option(
      '--reset-gate',
      'open the gate: end its pause or breaker, and the waits of an outage and of lists',
    )
    .option(
      '--new-epoch',
      'refuse the cursors of later changes from now on: for a restore that went unnoticed',
    )
    .option(
      '--verify',
      'compare the stored intervals and daily sums with the changes, and replace those that differ',
    )
    .option('--webhook', 'also send the webhook one signed test delivery without changes')
    .addOption(jsonOption())
    .action((options: DoctorOptions) => run((io) => runDoctor(io, options)));
}

/** Checks in the order of a sync's needs, and ends at the first failure. @returns its exit code, or 0 */
async function runDoctor(
  io: Io,
  { resetGate = false, newEpoch = false, verify = false, webhook = false, json = false }: DoctorOptions,
): Promise<number> {
  const { openCheck } = await import('../../../session/check.ts');
  const { keyToMask } = await import('../../../session/config/secrets.ts');
  const checks: Check[] = [];
  let exitCode: number = EXIT.done;
  let session: Session | null = null;
  try {
    // A daemon needs right endpoints too.
    const opened = await openCheck(io, { endpoints: true, testsKey: true });
    const { plan } = opened;
    session = opened.session;
    const { config, mirror } = session;
    checks.push({
      name: 'configuration',
      verdict: 'ok',
      message: `complete; key set, address ${config.apiUrl ?? ''}`,
    });
    for (const message of config.warnings)
      checks.push({ name: 'configuration', verdict: 'warning', message });
    checks.push({
      name: 'database',
      verdict: 'ok',
      message: plan ?? `${mirror.name} opens and its tables are up to date`,
    });
    if (plan === null && mirror.provider === 'sqlite') {
      const { readersOf } = await import('./readers.ts');
      const readers = readersOf(mirror.name);
      if (readers !== null) checks.push({ name: 'readers', ...readers });
    }
    checks.push(await checkGate(session, resetGate));
    if (newEpoch) checks.push(await startEpoch(session));
    if (verify) {
      const { verifyMirror } = await import('./verify.ts');
      checks.push({ name: 'intervals', ...(await verifyMirror(session)) });
    }
    checks.push(await checkBudget(session));
    if (webhook) {
      const { deliverTest } = await import('./test-delivery.ts');
      const delivered = await deliverTest(session, { signal: io.signal, hasMirror: plan === null });
      checks.push({ name: 'webhook', verdict: delivered.verdict, message: delivered.message });
      exitCode = delivered.exitCode;
    }
    const { ping, tookMs } = await pingService(session, io.signal);
    checks.push(checkService(ping, tookMs), checkClock(session, ping, tookMs));
    checks.push(await checkAccount(session, ping));
  } catch (error) {
    exitCode = exitCodeOf(error);
    if (session !== null) await checkGateAgain(session, checks);
    checks.push(checkEndedBy(error, session));
  } finally {
    await session?.close();
  }
  print(io, checks, { ok: exitCode === EXIT.done, json, key: keyToMask(io.env, io.cwd) });
  return exitCode;
}

/** Prints the checks without the key, which an address or a failure may repeat. */
function print(
  io: Io,
  found: readonly Check[],
  { ok, json, key }: { ok: boolean; json: boolean; key: string | null },
): void {
  const checks = found.map((check) => ({ ...check, message: withoutKey(check.message, key) }));
  if (json) printJson(io.stdout, JSON.stringify({ ok, checks }, null, 2));
  else {
    printLine(io.stdout, checks.map((check) => asLine(io, check)).join('\n'));
    printLine(io.stdout, `\n${countOf(checks)}`);
  }
}

/** `All checks passed.`, or how many failed and how many warn. */
function countOf(checks: readonly Check[]): string {
  const count = (wanted: Check['verdict']): number =>
    checks.filter(({ verdict }) => verdict === wanted).length;
  const [failed, warnings] = [count('failed'), count('warning')];
  const parts = [
    ...(failed === 0 ? [] : [`${plural(failed, 'check')} failed`]),
    ...(warnings === 0 ? [] : [plural(warnings, 'warning')]),
  ];
  const last = checks.at(-1);
  const hasEnded = last?.verdict === 'failed' && last.name !== 'account';
  const rest = hasEnded ? ` The checks after "${last.name}" were skipped.` : '';
  return parts.length === 0 ? 'All checks passed.' : `${parts.join(', ')}.${rest}`;
}

async function checkGate({ mirror, clock, keyUse }: Session, reset: boolean): Promise<Check> {
  const { ledger } = mirror;
  const state = await ledger.gateState();
  if (reset) {
    const { pausedAt, cause } = state;
    const lists = await ledger.openGate(clock.now());
    await keyUse.refresh();
    const asked = lists === 0 ? '' : `; ${plural(lists, 'list')} can be asked for again`;
    return {
      name: 'gate',
      verdict: 'ok',
      message:
        pausedAt === null
          ? `was open already${asked}`
          : `opened by hand (it was paused: ${cause ?? 'cause unknown'})${asked}`,
    };
  }
  const now = clock.now();
  const { word, until, cause } = judgeGate(state, now);
  if (word === 'open') return { name: 'gate', verdict: 'ok', message: 'open' };
  if (until === null)
    return { name: 'gate', verdict: 'warning', message: 'shut for the daemon: the service refused the key' };
  const left = duration(until.getTime() - now);
  return {
    name: 'gate',
    verdict: 'warning',
    message: `paused for ${left} more: ${cause}; --reset-gate ends the pause`,
  };
}

/** A request that was refused may have shut the gate, which was open when it was checked. */
async function checkGateAgain(session: Session, checks: Check[]): Promise<void> {
  const gate = checks.findIndex(({ name }) => name === 'gate');
  if (gate === -1) return;
  // Without an answer the first finding stays: the failure of the database is reported anyway.
  const found = await checkGate(session, false).catch(() => null);
  if (found !== null && found.verdict !== 'ok') checks[gate] = found;
}

/** For a restore that the program cannot notice (docs/history.md). */
async function startEpoch({ mirror, clock }: Session): Promise<Check> {
  const { id } = await mirror.history.newestCursor();
  const epoch = await mirror.beginEpoch(clock.now());
  return { name: 'feed', verdict: 'ok', message: `epoch ${epoch} begins after change ${id}` };
}

async function checkBudget({ mirror, clock, config, keyUse }: Session): Promise<Check> {
  const { foreignWords } = await import('../../output/status/status.ts');
  const { othersWarning } = await import('../../../session/key/use.ts');
  const now = clock.now();
  const sent = await mirror.budget.sentInWindow(now);
  const use = foreignUse(await mirror.ledger.gateState(), now);
  const used = `${thousands(sent)} of ${thousands(config.budget.perDay)} requests used in the last 24 h`;
  const others = keyUse.others();
  const notes = [
    ...(use === null ? [] : [foreignWords(use, { budget: config.budget, now })]),
    ...(others.length === 0 ? [] : [othersWarning(others)]),
  ];
  return {
    name: 'budget',
    verdict: sent >= config.budget.perDay || notes.length > 0 ? 'warning' : 'ok',
    message: [used, ...notes].join('; '),
  };
}

/** The last check, which an error ends. A service that was not asked has not failed. */
function checkEndedBy(error: unknown, session: Session | null): Check {
  const name = nameOfEnded(error, session);
  return name === 'service' && isUnsent(error)
    ? { name, verdict: 'skipped', message: `not asked: ${messageWithoutAdvice(error)}` }
    : { name, verdict: 'failed', message: messageOf(error) };
}

function nameOfEnded(error: unknown, session: Session | null): string {
  if (isMirrorError(error, 'OTHER_ACCOUNT')) return 'account';
  // Only the repair of intervals and sums claims the mirror.
  if (isMirrorError(error, 'LEASE_HELD')) return 'intervals';
  if (session !== null) return 'service';
  return isMirrorError(error, 'CONFIG') ? 'configuration' : 'database';
}

/** True if the gate or the budget let no request leave: nothing is known of the service. */
function isUnsent(error: unknown): boolean {
  return isMirrorError(error, 'GATE_PAUSED', 'BUDGET_SPENT') && error.status === undefined;
}

/** Sends the one request. */
async function pingService({ client, clock }: Session, signal: AbortSignal) {
  const before = clock.now();
  const ping = await client.ping({ reason: 'manual', signal });
  return { ping, tookMs: clock.now() - before };
}

function checkService({ rows, isWhole }: Ping, tookMs: number): Check {
  const inboxes = rows.items.length + rows.rejects.length;
  const message =
    `answers in ${duration(tookMs)}, accepts the key, and lists ` +
    `${isWhole ? '' : 'at least '}${plural(inboxes, 'inbox')}`;
  return { name: 'service', verdict: 'ok', message };
}

function checkClock({ clock, mirror }: Session, { serviceTime }: Ping, tookMs: number): Check {
  const name = 'clock';
  if (serviceTime === null) return { name, verdict: 'skipped', message: 'the service sends no time' };
  const aheadMs = clock.now() - serviceTime.getTime();
  if (Math.abs(aheadMs) <= CLOCK_TOLERANCE_MS + tookMs)
    return { name, verdict: 'ok', message: 'agrees with the service' };
  const machine = mirror.provider === 'sqlite' ? 'this machine' : "the database's server";
  const difference = `${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
  return { name, verdict: 'warning', message: `${machine} is ${difference} the service; set its clock` };
}

/** @throws MirrorError `OTHER_ACCOUNT` */
async function checkAccount({ mirror, access, clock }: Session, { rows, isWhole }: Ping): Promise<Check> {
  const {
    hasAllIds,
    inboxesOf,
    isOther,
    isProof,
    mayBeOurs,
    otherAccount,
    readingOf,
    showsAny,
    showsReplaced,
  } = await import('../../../sync/account/marks.ts');
  const name = 'account';
  const undecided = (why: string): Check => ({ name, verdict: 'skipped', message: `${why}: a sync decides` });
  const known = await mirror.account();
  if (known.inboxes.length === 0)
    return { name, verdict: 'skipped', message: 'the mirror is empty: its first sync decides' };
  const listed = inboxesOf(rows);
  const lacksIds = !hasAllIds(rows);
  const isComplete = isWhole && !lacksIds;
  const reading = readingOf(known, access(), clock.now());
  const isOtherList = isOther(known.inboxes, listed, { isComplete, ...reading });
  if (isOtherList && mayBeOurs(known.inboxes, listed, { ...reading, lacksIds }))
    return undecided('the service lists an inbox without an id');
  if (isOtherList) throw otherAccount(known, { listed, address: access().address });
  if (!reading.isProven && !showsAny(known.inboxes, listed, reading))
    return undecided('the service lists no inbox of the mirror');
  if (showsReplaced(known.inboxes, listed) && !isProof(known.inboxes, listed, reading))
    return undecided('the service lists inboxes that a consent has replaced');
  return { name, verdict: 'ok', message: "is the mirror's" };
}

function asLine(io: Io, { name, verdict, message }: Check): string {
  const colour = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;
  const head = `${paint(io.stdout, colour[verdict], verdict.padEnd(8))} ${name.padEnd(14)}`;
  return wrapped(io.stdout, `${head} ${message.replaceAll('\n', `\n${' '.repeat(24)}`)}`, 24);
}
