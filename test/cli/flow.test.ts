import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { type Random, randomStream } from '../../src/sandbox/world/random.ts';
import { type DaemonProcess, startDaemon } from '../support/daemon-process.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { type TestProgram, testProgram } from '../support/program.ts';
import { urlOf } from '../support/provider.ts';
import { count, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

const BIN = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');
const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes long').toString('base64')}`;

/** How many changes flow, and with which seed processes are killed while they do. */
const CHANGES = Number(process.env['CHANGES'] ?? 2000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e6));
const ROWS = 250;

/** A status, a tag that goes and one that comes. */
const CHANGES_A_ROW = 3;
const ROUNDS = Math.ceil(CHANGES / ROWS / CHANGES_A_ROW);

function idsOf(lines: readonly string[]): number[] {
  return lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as { id: number }).id);
}

/** A daemon that is started again whenever it has been killed, as by a service manager. */
class Service {
  readonly #program: TestProgram;
  #daemon: DaemonProcess;
  #address: Promise<string>;
  #left: number;
  #over = false;
  kills = 0;

  constructor(program: TestProgram, most: number) {
    this.#program = program;
    this.#left = most;
    onTestFinished(() => void (this.#over = true));
    [this.#daemon, this.#address] = this.#start();
  }

  #start(): [DaemonProcess, Promise<string>] {
    const daemon = startDaemon(this.#program);
    const address = daemon.said(/^answering/).then((line) => String(line['address']));
    address.catch(() => undefined);
    void this.#startAgainAfter(daemon);
    return [daemon, address];
  }

  async #startAgainAfter(daemon: DaemonProcess): Promise<void> {
    if ((await daemon.ended) === 'SIGKILL' && !this.#over) [this.#daemon, this.#address] = this.#start();
  }

  /** SIGKILL, if there are any left; what has not answered yet is spared, or it would never come to anything. @returns whether it was */
  kill(): boolean {
    if (this.#left === 0 || !this.#daemon.log.some(({ msg }) => msg.startsWith('answering'))) return false;
    this.#left -= 1;
    this.kills += 1;
    return this.#daemon.process.kill('SIGKILL');
  }

  /** Where the present one answers, or the next one will. */
  address(): Promise<string> {
    return this.#address;
  }

  /** Ends it as a service manager does; one that was killed just now is waited for. */
  async stop(): Promise<number | string> {
    this.#left = 0;
    for (;;) {
      const daemon = this.#daemon;
      await this.#address.catch(() => undefined);
      daemon.process.kill('SIGTERM');
      const end = await daemon.ended;
      if (end !== 'SIGKILL') return end;
    }
  }
}

/** What becomes of a delivery: its sender may be dead before it was taken in, or after that and before it is answered. */
type Fate = 'lost' | 'unanswered' | 'answered';

/** A receiver that checks every signature. */
async function receiver(fate: () => Fate): Promise<{ url: string; taken: number[][]; faults: unknown[] }> {
  const taken: number[][] = [];
  const faults: unknown[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      // Null where it was killed while it sent.
      const body = await text(request).catch(() => null);
      const comes = fate();
      if (body === null || comes === 'lost') return;
      try {
        const verified = new Webhook(SECRET).verify(body, request.headers as Record<string, string>);
        taken.push((verified as { data: { changes: { id: number }[] } }).data.changes.map(({ id }) => id));
      } catch (error) {
        faults.push(error);
      }
      if (comes === 'answered') response.writeHead(204).end();
    })();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`, taken, faults };
}

/** `changes --follow` in processes that are killed at random, each going on after the last whole line of the one before, until it has `all`. */
async function follow({ env, folder }: TestProgram, random: Random, all: Promise<number>): Promise<number[]> {
  const seen: number[] = [];
  let total = Number.POSITIVE_INFINITY;
  onTestFinished(() => void (total = 0));
  let look = (): void => undefined;
  void (async () => {
    total = await all;
    look();
  })();
  while (seen.length < total) {
    const args = [BIN, 'changes', '--follow', '--format', 'ndjson', '--since-id', String(seen.at(-1) ?? 0)];
    const options = { cwd: folder, env: { PATH: process.env['PATH'], ...env } };
    const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const enough = seen.length + 1 + Math.floor((random() * CHANGES) / 3);
    look = () => void (seen.length >= Math.min(enough, total) && child.kill('SIGKILL'));
    let rest = '';
    child.stdout.on('data', (data: Buffer) => {
      const lines = (rest + data.toString()).split('\n');
      rest = lines.pop() ?? '';
      seen.push(...idsOf(lines));
      look();
    });
    await once(child, 'close');
  }
  return seen;
}

/** `GET /changes` of whichever daemon answers, until it has `all`; an answer that is cut off counts for nothing. */
async function poll(service: Service, random: Random, all: Promise<number>): Promise<number[]> {
  const seen: number[] = [];
  let total = Number.POSITIVE_INFINITY;
  onTestFinished(() => void (total = 0));
  void all.then((many) => (total = many));
  while (seen.length < total) {
    try {
      const query = `since_id=${seen.at(-1) ?? 0}&wait=1&limit=${1 + Math.floor(random() * 400)}`;
      seen.push(
        ...idsOf((await (await fetch(`${await service.address()}/changes?${query}`)).text()).split('\n')),
      );
    } catch {
      await new Promise(setImmediate);
    }
  }
  return seen;
}

test(
  'while changes flow and daemon and consumers are killed at random, cursors give each exactly once, and the webhook each at least once, in order',
  async () => {
    const [kills, follows, polls] = ['daemon', 'follower', 'poller'].map((name) =>
      randomStream(SEED, name),
    ) as [Random, Random, Random];
    const all = Promise.withResolvers<number>();
    let service: Service | null = null;
    let round = 0;
    const flows = (): boolean => round > 0 && round <= ROUNDS;
    let cut = 0;
    const { url, taken, faults } = await receiver(() => {
      // One at the least.
      if (!flows() || kills() > (cut === 0 && round > 1 ? 1 : 0.1) || service?.kill() !== true)
        return 'answered';
      cut += 1;
      return cut % 2 === 1 ? 'lost' : 'unanswered';
    });
    const place = await freshMirrorFile();
    const program = await testProgram(
      { conversations: [ROWS], sharedShare: 0, tagsPerInbox: 2 },
      {
        DATABASE_URL: urlOf(place),
        WEBHOOK_URL: url,
        WEBHOOK_SECRET: SECRET,
        LOG_LEVEL: 'info',
        PAGE_SIZE: '50',
        REQUESTS_PER_DAY: '1000000',
      },
    );
    const database = await temporaryDatabase(place);
    const { conversations, tags } = firstInbox(program.sandbox);
    const change = (): void => {
      for (const row of conversations.values())
        Object.assign(row, { status: `round ${round}`, tag_ids: [tags.order[round % 2]] });
    };
    change();
    service = new Service(program, Math.ceil(CHANGES / 1000) + 1);
    const complete = `sweeps WHERE list = 'conversations' AND state = 'complete'`;
    await expect.poll(() => count(database, complete), { timeout: 15_000 }).toBeGreaterThan(0);
    await expect.poll(() => count(database, 'webhooks'), { timeout: 15_000 }).toBe(1);

    // Before the first page of each sweep every row changes, but not before the sweep in which they did has been read beyond it: a killed daemon
    // asks for its page again. The sweep after the last round says that all is read.
    const flowed = Promise.withResolvers<void>();
    let beyond = true;
    program.sandbox.script(({ path }) => {
      if (!path.includes('/conversations')) return undefined;
      // One at the least, in the midst of what it does with the page.
      if (flows() && kills() < (round === 2 && service?.kills === 0 ? 1 : 0.1))
        setTimeout(() => service?.kill(), kills() * 30);
      if (path.includes('next_page')) beyond = true;
      else if (beyond) {
        beyond = false;
        round += 1;
        if (round > ROUNDS) flowed.resolve();
        else change();
      }
      return undefined;
    });
    // One order after the other, so that no second passes between two sweeps; the last is for the sweep that says so.
    for (let order = 0; order <= ROUNDS + 1; order += 1)
      await database.execute(
        `INSERT INTO sync_requests (kind, lists, ordered, state, requested_by, requested_at) VALUES ('sync', '["conversations"]', $1, 'open', 'test', $2)`,
        true,
        new Date().toISOString(),
      );
    const consumers = [follow(program, follows, all.promise), poll(service, polls, all.promise)];
    await flowed.promise;
    const ids = (await database.query<{ id: number }>('SELECT id FROM changes ORDER BY id')).map(
      ({ id }) => id,
    );
    expect(ids.length, `seed ${SEED}`).toBe(ROUNDS * ROWS * CHANGES_A_ROW);
    all.resolve(ids.length);
    for (const seen of await Promise.all(consumers)) expect(seen, `seed ${SEED}`).toEqual(ids);
    await expect
      .poll(() => taken.at(-1)?.at(-1), { timeout: 15_000, message: `seed ${SEED}` })
      .toBe(ids.at(-1));
    expect([...new Set(taken.flat())], `seed ${SEED}`).toEqual(ids);
    expect(faults).toEqual([]);
    expect(await service.stop()).toBe(0);
  },
  30_000 + CHANGES * 20,
);
