import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { iso } from '../../src/database/instants.ts';
import { type Random, randomStream } from '../../src/sandbox/world/random.ts';
import { type DaemonProcess, startDaemon } from '../support/daemon-process.ts';
import { sized } from '../support/histories.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { type TestProgram, testProgram } from '../support/program.ts';
import { urlOf } from '../support/provider.ts';
import { count, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

const BIN = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');
const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes long').toString('base64')}`;

/** At least this many changes flow; the seed decides when processes are killed. */
const CHANGES = Number(process.env['CHANGES'] ?? sized(600, 10_000));
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e6));
const ROWS = 250;

/** A follower is killed after at most this many further changes. */
const MOST_FOLLOWED = CHANGES / sized(1.5, 3);

/** A round changes the status of each row, removes one tag and adds another. It also adds rows. */
const CHANGES_A_ROW = 3;
const ROUNDS = Math.ceil(CHANGES / ROWS / CHANGES_A_ROW);
const ADDED_A_ROUND = 5;

interface Line {
  readonly id: number;
  readonly field: string;
  readonly item_values: { readonly status: string; readonly tags: readonly string[] } | null;
}

/** The ids of changes, of which a new row's must have what it was seen with. */
function idsOf(lines: readonly string[]): number[] {
  return lines.filter((line) => line !== '').map((line) => checked(JSON.parse(line) as Line));
}

function checked({ id, field, item_values: values }: Line): number {
  expect([id, /^round \d+$/.test(values?.status ?? ''), values?.tags.length]).toEqual(
    field === 'presence' ? [id, true, 1] : [id, false, undefined],
  );
  return id;
}

/** A daemon that is restarted after each SIGKILL, as a service manager does. */
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

  /**
   * Sends SIGKILL while kills are left. Spares a daemon that does not answer yet: else none would serve.
   * @returns whether the signal was sent
   */
  kill(): boolean {
    if (this.#left === 0 || !this.#daemon.log.some(({ msg }) => msg.startsWith('answering'))) return false;
    this.#left -= 1;
    this.kills += 1;
    return this.#daemon.process.kill('SIGKILL');
  }

  /** The address of the running daemon, or of the one that is starting. */
  address(): Promise<string> {
    return this.#address;
  }

  /** Sends SIGTERM; after a SIGKILL, stops the replacement. @returns the exit code or the signal */
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

/** The daemon is killed before the receiver stores a delivery, before it answers, or not at all. */
type Fate = 'lost' | 'unanswered' | 'answered';

/** A webhook receiver that verifies every signature. */
async function receiver(fate: () => Fate): Promise<{ url: string; taken: number[][]; faults: unknown[] }> {
  const taken: number[][] = [];
  const faults: unknown[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      // Null where the sender was killed while it sent the body.
      const body = await text(request).catch(() => null);
      const outcome = fate();
      if (body === null || outcome === 'lost') return;
      try {
        const verified = new Webhook(SECRET).verify(body, request.headers as Record<string, string>);
        taken.push((verified as { data: { changes: Line[] } }).data.changes.map(checked));
      } catch (error) {
        faults.push(error);
      }
      if (outcome === 'answered') response.writeHead(204).end();
    })();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`, taken, faults };
}

/**
 * Runs `changes --follow` in processes that are killed at random, until they have printed `all` changes.
 * Each process resumes after the last whole line of the one before.
 */
async function follow({ env, folder }: TestProgram, random: Random, all: Promise<number>): Promise<number[]> {
  const seen: number[] = [];
  let total = Number.POSITIVE_INFINITY;
  onTestFinished(() => void (total = 0));
  let check = (): void => undefined;
  void (async () => {
    total = await all;
    check();
  })();
  while (seen.length < total) {
    const args = [BIN, 'changes', '--follow', '--format', 'ndjson', '--since-id', String(seen.at(-1) ?? 0)];
    const options = { cwd: folder, env: { PATH: process.env['PATH'], ...env } };
    const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const enough = seen.length + 1 + Math.floor(random() * MOST_FOLLOWED);
    check = () => void (seen.length >= Math.min(enough, total) && child.kill('SIGKILL'));
    let rest = '';
    child.stdout.on('data', (data: Buffer) => {
      const lines = (rest + data.toString()).split('\n');
      rest = lines.pop() ?? '';
      seen.push(...idsOf(lines));
      check();
    });
    await once(child, 'close');
  }
  return seen;
}

/** Polls `GET /changes` of the running daemon until `all` changes have arrived. Drops incomplete answers. */
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
  'despite random kills, cursors get each change exactly once and the webhook at least once, in order',
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
      // From the second round on, the first kill is certain.
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
    const { id: inbox, conversations, tags } = firstInbox(program.sandbox);
    const change = (): void => {
      for (let left = round === 0 ? 0 : ADDED_A_ROUND; left > 0; left -= 1)
        program.sandbox.world.addConversation(inbox);
      for (const row of conversations.values())
        Object.assign(row, { status: `round ${round}`, tag_ids: [tags.order[round % 2]] });
    };
    change();
    service = new Service(program, Math.ceil(CHANGES / 1000) + 1);
    const complete = `sweeps WHERE list = 'conversations' AND state = 'complete'`;
    await expect.poll(() => count(database, complete)).toBeGreaterThan(0);
    await expect.poll(() => count(database, 'webhooks')).toBe(1);

    // Every row changes before the first page of each sweep. A killed daemon may request that page again, so
    // the next round waits until a later page is requested. The sweep after the last round proves that the
    // daemon has read every change.
    const flowed = Promise.withResolvers<void>();
    let beyond = true;
    program.sandbox.script(({ path }) => {
      if (!path.includes('/conversations')) return undefined;
      // In the second round the first kill is certain. It hits the daemon while it processes the page.
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
    // Queued orders leave no idle second between sweeps. The last one is for the sweep after the last round.
    for (let order = 0; order <= ROUNDS + 1; order += 1)
      await database.execute(
        `INSERT INTO sync_requests (kind, lists, ordered, state, requested_by, requested_at) VALUES ('sync', '["conversations"]', $1, 'open', 'test', $2)`,
        true,
        iso(Date.now()),
      );
    const consumers = [follow(program, follows, all.promise), poll(service, polls, all.promise)];
    await flowed.promise;
    const ids = (await database.query<{ id: number }>('SELECT id FROM changes ORDER BY id')).map(
      ({ id }) => id,
    );
    // A row that a round adds changes in each later one.
    const added = ADDED_A_ROUND * (ROUNDS + (CHANGES_A_ROW * ROUNDS * (ROUNDS - 1)) / 2);
    expect(ids.length, `seed ${SEED}`).toBe(ROUNDS * ROWS * CHANGES_A_ROW + added);
    all.resolve(ids.length);
    for (const seen of await Promise.all(consumers)) expect(seen, `seed ${SEED}`).toEqual(ids);
    await expect.poll(() => taken.at(-1)?.at(-1), { message: `seed ${SEED}` }).toBe(ids.at(-1));
    expect([...new Set(taken.flat())], `seed ${SEED}`).toEqual(ids);
    expect(faults).toEqual([]);
    expect(await service.stop()).toBe(0);
  },
  60_000 + CHANGES * 20,
);
