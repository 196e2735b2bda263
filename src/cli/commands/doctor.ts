import type { Command } from 'commander';
import { SECOND } from '../../core/clock.ts';
import { EXIT, exitCodeOf, messageOf } from '../../core/errors.ts';
import { judgePause } from '../../core/gate-state.ts';
import { thousands, duration, plural } from '../../core/humanize.ts';
import type { Session } from '../../session/session.ts';
import { type Io, paint, printJson, printLine, wrapped } from '../../session/terminal.ts';
import { jsonOption, type Runner } from '../options.ts';

/** Warns of a clock that differs by more than 5 s from the service's, whose `Date` has whole seconds. */
const CLOCK_TOLERANCE_MS = 5 * SECOND;

interface DoctorOptions {
  readonly resetGate?: boolean;
  readonly json?: boolean;
}

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
    .option('--reset-gate', 'open the gate: end its pause or breaker')
    .addOption(jsonOption())
    .action((options: DoctorOptions) => run((io) => runDoctor(io, options)));
}

/** Checks in the order of a sync's needs, and ends at the first failure. @returns its exit code, or 0 */
async function runDoctor(io: Io, { resetGate = false, json = false }: DoctorOptions): Promise<number> {
  const { openSession } = await import('../../session/session.ts');
  const checks: Check[] = [];
  let exitCode: number = EXIT.done;
  let session: Session | null = null;
  try {
    session = await openSession(io);
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
      message: `${mirror.name} opens and its tables are up to date`,
    });
    checks.push(await checkGate(session, resetGate));
    checks.push(await checkBudget(session));
    checks.push(...(await checkService(session, io.signal)));
  } catch (error) {
    exitCode = exitCodeOf(error);
    const name = session === null ? (exitCode === EXIT.usage ? 'configuration' : 'database') : 'service';
    checks.push({ name, verdict: 'failed', message: messageOf(error) });
  } finally {
    await session?.close();
  }
  if (json) printJson(io.stdout, JSON.stringify({ ok: exitCode === EXIT.done, checks }, null, 2));
  else printLine(io.stdout, checks.map((check) => asLine(io, check)).join('\n'));
  return exitCode;
}

async function checkGate({ mirror, clock }: Session, reset: boolean): Promise<Check> {
  const { ledger } = mirror;
  const state = await ledger.gateState();
  if (reset) {
    const { pausedAt, cause } = state;
    await ledger.openGate();
    return {
      name: 'gate',
      verdict: 'ok',
      message:
        pausedAt === null
          ? 'was open already'
          : `opened by hand (it was paused: ${cause ?? 'cause unknown'})`,
    };
  }
  const now = clock.now();
  const { until, cause } = judgePause(state, now);
  if (until === null) return { name: 'gate', verdict: 'ok', message: 'open' };
  const left = duration(until.getTime() - now);
  return {
    name: 'gate',
    verdict: 'warning',
    message: `paused for ${left} more: ${cause}; --reset-gate ends the pause`,
  };
}

async function checkBudget({ mirror, clock, config }: Session): Promise<Check> {
  const sent = await mirror.budget.sentInWindow(clock.now());
  const verdict = sent >= config.budget.perDay ? 'warning' : 'ok';
  return {
    name: 'budget',
    verdict,
    message: `${thousands(sent)} of ${thousands(config.budget.perDay)} requests used in the last 24 h`,
  };
}

async function checkService({ client, clock, mirror }: Session, signal: AbortSignal): Promise<Check[]> {
  const before = clock.now();
  const { inboxes, serviceTime } = await client.ping({ reason: 'manual', signal });
  const took = clock.now() - before;
  const checks: Check[] = [
    {
      name: 'service',
      verdict: 'ok',
      message:
        `answers in ${duration(took)}, accepts the key, and lists ` +
        (inboxes < 10 ? plural(inboxes, 'inbox') : 'at least 10 inboxes'),
    },
  ];
  if (serviceTime === null)
    return [...checks, { name: 'clock', verdict: 'skipped', message: 'the service sends no time' }];
  const aheadMs = clock.now() - serviceTime.getTime();
  if (Math.abs(aheadMs) <= CLOCK_TOLERANCE_MS + took)
    return [...checks, { name: 'clock', verdict: 'ok', message: 'agrees with the service' }];
  const machine = mirror.provider === 'sqlite' ? 'this machine' : "the database's server";
  const difference = `${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
  const message = `${machine} is ${difference} the service; set its clock`;
  return [...checks, { name: 'clock', verdict: 'warning', message }];
}

function asLine(io: Io, { name, verdict, message }: Check): string {
  const colour = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;
  const head = `${paint(io.stdout, colour[verdict], verdict.padEnd(8))} ${name.padEnd(14)}`;
  return wrapped(io.stdout, `${head} ${message.replaceAll('\n', `\n${' '.repeat(24)}`)}`, 24);
}
