import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import { downFrom } from '../support/outage.ts';
import {
  askedSince,
  changesIn,
  count,
  firstIds,
  firstInbox,
  nthInbox,
  removeConversations,
  reportOn,
  tampered,
} from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

async function mirrored(options: MirrorOptions = {}): Promise<TestMirror> {
  return await quickMirror({
    pageSize: 10,
    ...options,
    sandbox: { idType: 'string', conversations: [45], usersPerInbox: 4, tagsPerInbox: 3, ...options.sandbox },
  });
}

function sweepsOf(
  { database }: TestMirror,
  list: string,
): Promise<{ state: string; pages: number; error: string | null }[]> {
  return database.query(`SELECT state, pages, error FROM sweeps WHERE list = $1 ORDER BY id`, list);
}

describe('a list without an end', () => {
  const harms = {
    'repeats a token': {
      message: 'returned the same page token twice',
      next: (given: string | null, first: string) => (given === null ? null : first),
    },
    'gives an empty page with a token': {
      message: 'returned an empty page with a next-page token',
      next: (given: string | null) => given,
    },
  };
  for (const [name, { message, next }] of Object.entries(harms)) {
    test(`that ${name} fails, keeps what was read, deletes nothing and restarts next time`, async () => {
      let harmful = false;
      let first = '';
      const mirror = await mirrored({
        wrapHttp: tampered((page, path, query) => {
          if (!harmful || !path.endsWith('/conversations')) return;
          if (query['next_page'] === undefined) {
            first = page.pagination.next_page ?? '';
            return;
          }
          if (message.includes('empty')) page.results = [];
          page.pagination.next_page = next(page.pagination.next_page, first);
        }),
      });
      await mirror.sync();
      const inbox = firstInbox(mirror.sandbox);
      mirror.sandbox.world.removeConversation(inbox.id, inbox.conversations.order[3]!);
      mirror.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'read before the end');
      harmful = true;
      const report = await mirror.sync();
      expect(report.stopped).toBeNull();
      expect(reportOn(report, 'conversations')).toMatchObject({
        outcome: 'failed',
        error: { code: 'ENDLESS_LIST', message: expect.stringContaining(message) },
      });
      expect((await changesIn(mirror.database)).map(({ new_value }) => new_value)).toEqual([
        'read before the end',
      ]);
      expect(
        await count(
          mirror.database,
          `conversations WHERE deleted_at IS NOT NULL OR missing_since IS NOT NULL`,
        ),
      ).toBe(0);
      harmful = false;
      const before = mirror.sandbox.arrivals.length;
      expect(reportOn(await mirror.sync(), 'conversations').outcome).toBe('complete');
      expect(askedSince(mirror.sandbox, before)).toContain(`/inboxes/${inbox.id}/conversations?limit=10`);
      await expectEqualToService(mirror);
    });
  }

  test('that has more than 100,000 pages fails with a message', async () => {
    const mirror = await mirrored();
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? 'reset' : undefined));
    await mirror.sync();
    mirror.sandbox.script(undefined);
    // Moves only the page count, as if the sweep had read that many pages.
    await mirror.database.execute(`UPDATE sweeps SET pages = 99999 WHERE list = 'conversations'`);
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'failed',
      error: { code: 'ENDLESS_LIST', message: expect.stringContaining('has more than 100000 pages') },
    });
  });
});

describe('a token that the service refuses', () => {
  test('restarts its list, which reports the restart and completes', async () => {
    const mirror = await mirrored();
    let refusals = 2;
    mirror.sandbox.script(({ path }) => {
      if (!path.includes('next_page') || refusals === 0) return undefined;
      refusals -= 1;
      return { status: 400, body: '{"errors":[{"message":"token expired"}]}' };
    });
    const report = await mirror.sync();
    expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', items: 45 });
    const restarts = mirror.events.filter(({ kind }) => kind === 'restarted');
    expect(restarts.length).toBe(2);
    expect(restarts[0]).toMatchObject({ cause: expect.stringContaining('token expired') });
    await expectEqualToService(mirror);
    expect(
      await count(
        mirror.database,
        'sweep_pages JOIN sweeps ON sweeps.id = sweep_id WHERE list = $1',
        'conversations',
      ),
    ).toBe(5);
  });

  test('three times fails its list, and the list deletes nothing', async () => {
    const mirror = await mirrored();
    await mirror.sync();
    const inbox = firstInbox(mirror.sandbox);
    mirror.sandbox.world.removeConversation(inbox.id, inbox.conversations.order[3]!);
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? { status: 410 } : undefined));
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync({ lists: ['conversations'] });
    expect(reportOn(report, 'conversations')).toMatchObject({
      outcome: 'failed',
      error: { code: 'TOKEN_REFUSED' },
    });
    expect(askedSince(mirror.sandbox, before).length).toBe(6);
    expect(
      await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL OR missing_since IS NOT NULL`),
    ).toBe(0);
  });

  test('twice, the second time at an early page, restarts its list, which completes', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [95] } });
    const refusedAt = [9, 2];
    let page = 0;
    mirror.sandbox.script(({ path }) => {
      if (!path.includes('/conversations?')) return undefined;
      page = path.includes('next_page') ? page + 1 : 1;
      if (page !== refusedAt[0]) return undefined;
      refusedAt.shift();
      return { status: 410 };
    });
    const report = await mirror.sync();
    expect(refusedAt).toEqual([]);
    expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', items: 95 });
  });

  test('fails its list after two restarts, although each run is stopped in its second walk', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [95] } });
    let walks = 0;
    let pages = 0;
    let stop = new AbortController();
    mirror.sandbox.script(({ path }) => {
      if (!path.includes('/conversations?')) return undefined;
      if (!path.includes('next_page')) [walks, pages] = [walks + 1, 0];
      pages += 1;
      if (pages === 2 && walks > 1) stop.abort(new Error('a person pressed Ctrl-C'));
      return pages > 4 ? { status: 410 } : undefined;
    });
    const outcomes: unknown[] = [];
    for (let run = 0; run < 5 && outcomes.at(-1) !== 'failed'; run += 1) {
      stop = new AbortController();
      const report = await mirror.sync({ lists: ['conversations'] }, stop.signal);
      outcomes.push(reportOn(report, 'conversations').outcome);
    }
    expect(outcomes).toEqual(['paused', 'paused', 'failed']);
  });

  test('drops the rejected rows from before the restart', async () => {
    const mirror = await mirrored();
    const inbox = firstInbox(mirror.sandbox);
    const row = inbox.conversations.get(inbox.conversations.order[0]!)!;
    const { status } = row;
    (row as { status: unknown }).status = 7;
    let refused = false;
    mirror.sandbox.script(({ path }) => {
      if (refused || !path.includes('next_page')) return undefined;
      refused = true;
      row.status = status;
      return { status: 400 };
    });
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'complete',
      rejected: 0,
      items: 45,
    });
    expect(await count(mirror.database, 'rejects')).toBe(0);
    await expectEqualToService(mirror);
  });

  test('lets its list delete rows although one before the restart had no readable id', async () => {
    let nameless = false;
    const mirror = await mirrored({
      wrapHttp: tampered((page, path) => {
        if (nameless && path.endsWith('/conversations')) delete page.results[0]?.['id'];
      }),
    });
    await mirror.sync();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 1, 20));
    nameless = true;
    mirror.sandbox.script(({ path }) => {
      if (!nameless || !path.includes('next_page')) return undefined;
      nameless = false;
      return { status: 400 };
    });
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ withoutId: 0, deleted: 1 });
    await expectEqualToService(mirror);
  });
});

describe('a list that fails', () => {
  for (const [name, answer] of [
    ['404', { status: 404, body: '{"Message":"no such inbox"}' }],
    ['an unknown envelope', { status: 200, body: '{"items":[]}' }],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' } }],
  ] as const) {
    test(`with ${name} does not stop the others, and the pass names it`, async () => {
      const mirror = await mirrored({ sandbox: { conversations: [15, 15] } });
      const inbox = firstInbox(mirror.sandbox);
      mirror.sandbox.script(({ path }) =>
        path.startsWith(`/v1/inboxes/${inbox.id}/tags`) ? answer : undefined,
      );
      const report = await mirror.sync();
      expect(report.stopped).toBeNull();
      expect(report.lists.filter(({ outcome }) => outcome !== 'complete')).toEqual([
        expect.objectContaining({
          key: expect.objectContaining({ list: 'tags', inboxId: inbox.id }),
          outcome: 'failed',
        }),
      ]);
      const [pass] = await mirror.database.query<{ state: string; error: string }>(
        `SELECT state, error FROM sync_requests`,
      );
      expect(pass).toEqual({ state: 'failed', error: `not complete: tags/${inbox.id}` });
      await mirror.sync();
      const { lists } = await mirror.writer.status(mirror.clock.now());
      expect(
        lists.flatMap(({ list, failures }) => (failures === null ? [] : [{ list, ...failures }])),
      ).toEqual([expect.objectContaining({ list: 'tags', sweeps: 2, requests: 2, lastCost: 1 })]);
      mirror.sandbox.script(undefined);
      await mirror.sync();
      await expectEqualToService(mirror);
    });
  }

  test('on one page each time keeps its token while the others complete', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [45, 400] } });
    const inbox = firstInbox(mirror.sandbox);
    const broken = (path: string): boolean =>
      path.startsWith(`/v1/inboxes/${inbox.id}/conversations`) && path.includes('next_page');
    mirror.sandbox.script(({ path }) => (broken(path) ? { status: 500 } : undefined));
    const report = await mirror.sync();
    expect(report.stopped).toBeNull();
    expect(reportOn(report, 'conversations', inbox.id)).toMatchObject({
      outcome: 'paused',
      error: { code: 'ANSWER_FAILED' },
    });
    expect(report.lists.filter(({ outcome }) => outcome === 'complete').length).toBe(report.lists.length - 1);
    mirror.sandbox.script(undefined);
    const before = mirror.sandbox.arrivals.length;
    await mirror.sync({ lists: ['conversations'], inboxId: inbox.id });
    expect(askedSince(mirror.sandbox, before).filter((path) => !path.includes('next_page'))).toEqual([]);
    await expectEqualToService(mirror);
  });

  test('does not stop the sweeps of known inboxes, even if it is the list of inboxes', async () => {
    const mirror = await mirrored();
    await mirror.sync();
    const inbox = firstInbox(mirror.sandbox);
    mirror.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'seen all the same');
    mirror.sandbox.script(({ path }) =>
      path.startsWith('/v1/inboxes?') ? { status: 200, body: '{}' } : undefined,
    );
    const report = await mirror.sync();
    expect(reportOn(report, 'inboxes')).toMatchObject({ outcome: 'failed', error: { code: 'BAD_ANSWER' } });
    await expectEqualToService(mirror);
  });
});

describe('a pass that stops', () => {
  test('in an outage resumes at its token in the next pass and reads no completed list again', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [95, 25] } });
    const inbox = firstInbox(mirror.sandbox);
    let pagesLeft = 5;
    const pages = `/v1/inboxes/${inbox.id}/conversations`;
    downFrom(mirror, (path) => path.startsWith(pages) && pagesLeft-- <= 0);
    const first = await mirror.sync();
    expect(first.stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    expect((await sweepsOf(mirror, 'conversations')).filter(({ state }) => state === 'paused')).toEqual([
      { state: 'paused', pages: 5, error: expect.stringContaining('nothing is lost') },
    ]);
    mirror.sandbox.script(undefined);
    mirror.clock.advance(HOUR);
    const before = mirror.sandbox.arrivals.length;
    const second = await mirror.sync();
    expect(second.pass).toMatchObject({ id: first.pass.id, resumed: true });
    expect(askedSince(mirror.sandbox, before).map((path) => path.split('&')[0])).toEqual(
      Array.from({ length: 5 }, () => `/inboxes/${inbox.id}/conversations?limit=10`),
    );
    expect(askedSince(mirror.sandbox, before).every((path) => path.includes('next_page'))).toBe(true);
    expect(second.lists.filter(({ outcome }) => outcome === 'already').length).toBe(6);
    await expectEqualToService(mirror);
    // The interrupted pass is complete: the next one reads everything.
    const all = mirror.sandbox.arrivals.length;
    expect((await mirror.sync()).pass.resumed).toBe(false);
    expect(mirror.sandbox.arrivals.length - all).toBe(1 + 2 + 2 + 10 + 3);
  });

  test('on a signal stops between pages, and no page is read twice', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [95] } });
    const stop = new AbortController();
    mirror.sandbox.script(() => {
      if (mirror.sandbox.arrivals.length === 6) stop.abort(new Error('a person pressed Ctrl-C'));
      return undefined;
    });
    const report = await mirror.sync({}, stop.signal);
    expect(report.stopped).toMatchObject({ message: 'a person pressed Ctrl-C' });
    const arrived = mirror.sandbox.arrivals.length;
    expect(arrived).toBeLessThan(10);
    await mirror.sync();
    // No page was read twice: the pages that were under way were applied.
    expect(mirror.sandbox.arrivals.length).toBe(1 + 1 + 1 + 10);
    await expectEqualToService(mirror);
  });

  test('for over 36 hours is abandoned: the next one reads all lists and ends the open sweep', async () => {
    const mirror = await mirrored();
    downFrom(mirror, (path) => path.includes('next_page'));
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    mirror.clock.advance(37 * HOUR);
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    expect(report.pass.resumed).toBe(false);
    expect(report.lists.map(({ outcome }) => outcome)).toEqual([
      'complete',
      'complete',
      'complete',
      'complete',
    ]);
    // Of the conversations, the four pages that were left, and then all five, because the first one is old.
    expect(mirror.sandbox.arrivals.length - before).toBe(1 + 1 + 1 + 4 + 5);
    expect(await mirror.database.query(`SELECT state, error FROM sync_requests ORDER BY id`)).toEqual([
      { state: 'abandoned', error: 'interrupted over 36 hours ago' },
      { state: 'done', error: null },
    ]);
    await expectEqualToService(mirror);
  });

  test('reads a list again of which another pass has failed since it was complete', async () => {
    const mirror = await mirrored();
    downFrom(mirror, (path) => path.includes('conversations'));
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(({ path }) => (path.includes('/tags') ? { status: 404 } : undefined));
    await mirror.sync({ lists: ['tags'] });
    mirror.sandbox.script(undefined);
    const report = await mirror.sync();
    expect(report.pass.resumed).toBe(true);
    expect(reportOn(report, 'users').outcome).toBe('already');
    expect(reportOn(report, 'tags').outcome).toBe('complete');
  });

  test('is resumed a day later, so that a list of more than a day’s budget can complete', async () => {
    const mirror = await mirrored();
    downFrom(mirror, (path) => path.includes('next_page'));
    for (let day = 1; day <= 3; day += 1) {
      expect((await mirror.sync({ kind: 'resync' })).pass).toMatchObject({ id: 1, resumed: day > 1 });
      mirror.clock.advance(24 * HOUR + 31_000);
    }
  });

  test.each([
    ['resync', { kind: 'resync' }],
    ['change of the account', { acceptAccount: true }],
  ] as const)(
    'as a %s reads each list from its first page, although another pass has read its end since',
    async (_what, spec) => {
      const mirror = await mirrored();
      const { sandbox } = mirror;
      await mirror.sync();
      downFrom(mirror, (path) => path.includes('next_page'));
      await mirror.sync({ lists: ['conversations'] });
      mirror.clock.advance(HOUR);
      downFrom(mirror, (path) => path.includes('/inboxes?'));
      const whole = { ...spec, lists: ['inboxes', 'conversations'] } as const;
      expect((await mirror.sync(whole)).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
      sandbox.script(undefined);
      expect(reportOn(await mirror.sync({ lists: ['conversations'] }), 'conversations').outcome).toBe(
        'complete',
      );
      const before = sandbox.arrivals.length;
      // A consent to an account that has read no inbox begins again.
      expect((await mirror.sync(whole)).pass.resumed).toBe(!('acceptAccount' in spec));
      const pages = askedSince(sandbox, before).filter((path) => path.includes('?'));
      expect(pages).toHaveLength(1 + 5);
    },
  );

  test('as a resync reads a half-read list from its first page, although the clock is set meanwhile', async () => {
    const on: { setClock?: () => Promise<unknown> } = {};
    const mirror = await mirrored({
      wrapHttp: (http) => ({
        close: http.close,
        async get(...call) {
          const answer = await http.get(...call);
          await on.setClock?.();
          return answer;
        },
      }),
    });
    const { sandbox, clock, writer } = mirror;
    await mirror.sync();
    sandbox.script(({ path }) => (path.includes('next_page') ? 'reset' : undefined));
    await mirror.sync({ lists: ['conversations'] });
    sandbox.script(undefined);
    clock.advance(HOUR);
    on.setClock = async () => {
      delete on.setClock;
      clock.setWall(3 * HOUR);
      await writer.ledger.followClock(await clock.ledgerTime());
    };
    const before = sandbox.arrivals.length;
    await mirror.sync({ kind: 'resync', lists: ['inboxes', 'conversations'] });
    expect(askedSince(sandbox, before)).toHaveLength(1 + 5);
  });

  test('is resumed only by a pass of the same kind and scope', async () => {
    const mirror = await mirrored();
    downFrom(mirror, (path) => path.includes('next_page'));
    const all = await mirror.sync();
    mirror.sandbox.script(undefined);
    expect((await mirror.sync({ lists: ['users'] })).pass).toMatchObject({ resumed: false });
    expect((await mirror.sync({ inboxId: firstInbox(mirror.sandbox).id })).pass).toMatchObject({
      resumed: false,
    });
    expect((await mirror.sync()).pass).toMatchObject({ id: all.pass.id, resumed: true });
  });
});

test('a pause does not revive a sweep that was abandoned because its inbox is gone', async () => {
  const { writer, database, clock } = await mirrored();
  const sweep = await writer.sweeps.open({ list: 'tags', inboxId: '1' }, 'schedule', clock.now());
  await database.execute(
    `UPDATE sweeps SET state = 'abandoned', error = 'the inbox is gone' WHERE id = $1`,
    sweep.id,
  );
  await writer.sweeps.end(sweep.id, 'paused', { error: 'stopped', code: null }, clock.now());
  expect(await database.query(`SELECT state, error FROM sweeps WHERE id = $1`, sweep.id)).toEqual([
    { state: 'abandoned', error: 'the inbox is gone' },
  ]);
});

describe('a pass', () => {
  test('by `sync users` reads only users lists, and with an inbox only that inbox’s list', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [5, 5] } });
    await mirror.sync();
    const [inbox, other] = [firstInbox(mirror.sandbox), nthInbox(mirror.sandbox, 1)];
    let before = mirror.sandbox.arrivals.length;
    await mirror.sync({ lists: ['users'] });
    expect(askedSince(mirror.sandbox, before).sort()).toEqual(
      [inbox, other].map(({ id }) => `/inboxes/${id}/users?limit=10`).sort(),
    );
    before = mirror.sandbox.arrivals.length;
    await mirror.sync({ lists: ['users'], inboxId: other.id });
    expect(askedSince(mirror.sandbox, before)).toEqual([`/inboxes/${other.id}/users?limit=10`]);
  });

  test('by `sync users` on an empty mirror reads the inboxes first', async () => {
    const mirror = await mirrored();
    await mirror.sync({ lists: ['users'] });
    expect(askedSince(mirror.sandbox, 0)).toEqual([
      '/inboxes?limit=10',
      `/inboxes/${firstInbox(mirror.sandbox).id}/users?limit=10`,
    ]);
    expect(await count(mirror.database, 'inbox_users')).toBe(4);
  });

  test('for an unknown inbox reports the inboxes that exist, or the failed list of inboxes', async () => {
    const mirror = await mirrored();
    await expect(mirror.sync({ inboxId: '42' })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(`no inbox 42. It has: ${firstInbox(mirror.sandbox).id}`),
    });
    mirror.sandbox.script(() => ({ status: 200, body: '{}' }));
    const report = await mirror.sync({ inboxId: '42' });
    expect(reportOn(report, 'inboxes')).toMatchObject({ outcome: 'failed', error: { code: 'BAD_ANSWER' } });
  });

  test('reads an inbox that is not authorised like others', async () => {
    const mirror = await mirrored();
    firstInbox(mirror.sandbox).is_authorised = false;
    await mirror.sync();
    await expectEqualToService(mirror);
    expect(await count(mirror.database, `inboxes WHERE NOT is_authorised`)).toBe(1);
  });

  test('by `resync` starts at the first page despite an open sweep, and resumes its own sweep', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [95] } });
    const path = `/inboxes/${firstInbox(mirror.sandbox).id}/conversations?limit=10`;
    const breakAfter = (pages: number): void => {
      let left = pages;
      downFrom(mirror, (asked) => asked.includes('/conversations') && left-- <= 0);
    };
    breakAfter(3);
    await mirror.sync();
    breakAfter(4);
    let before = mirror.sandbox.arrivals.length;
    await mirror.sync({ kind: 'resync' });
    expect(askedSince(mirror.sandbox, before)).toContain(path);
    expect((await sweepsOf(mirror, 'conversations')).map(({ state, pages }) => ({ state, pages }))).toEqual([
      { state: 'abandoned', pages: 3 },
      { state: 'paused', pages: 4 },
    ]);
    mirror.sandbox.script(undefined);
    before = mirror.sandbox.arrivals.length;
    await mirror.sync({ kind: 'resync' });
    expect(askedSince(mirror.sandbox, before).length).toBe(6);
    expect(askedSince(mirror.sandbox, before)).not.toContain(path);
    await expectEqualToService(mirror);
  });
});

describe('a sweep', () => {
  test('leaves the pages of the last two complete sweeps and of at most two failed ones since', async () => {
    const mirror = await mirrored();
    for (let nth = 0; nth < 4; nth++) await mirror.sync({ lists: ['conversations'] });
    const pages = (): Promise<number> =>
      count(mirror.database, `sweep_pages JOIN sweeps ON sweeps.id = sweep_id WHERE list = 'conversations'`);
    expect(await pages()).toBe(2 * 5);
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? { status: 404 } : undefined));
    for (let nth = 0; nth < 5; nth++) await mirror.sync({ lists: ['conversations'] });
    expect(await pages()).toBe(2 * 5 + 2);
    mirror.sandbox.script(undefined);
    await mirror.sync({ lists: ['conversations'] });
    expect(await pages()).toBe(2 * 5);
  });

  test('leaves the rejected rows of at most two failed sweeps', async () => {
    const mirror = await mirrored();
    const inbox = firstInbox(mirror.sandbox);
    (inbox.conversations.get(inbox.conversations.order[0]!) as { status: unknown }).status = 7;
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? { status: 404 } : undefined));
    for (let nth = 0; nth < 5; nth++) await mirror.sync({ lists: ['conversations'] });
    expect(await count(mirror.database, 'rejects')).toBe(2);
  });

  test('that completes first is the baseline and writes no changes, even after a failed one', async () => {
    const mirror = await mirrored();
    const inbox = firstInbox(mirror.sandbox);
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? { status: 404 } : undefined));
    await mirror.sync();
    mirror.sandbox.script(undefined);
    mirror.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'changed before the baseline');
    await mirror.sync();
    await expectEqualToService(mirror);
    expect(await changesIn(mirror.database)).toEqual([]);
  });
});

describe('`previously_seen_at`', () => {
  test('is the last fetch of the item’s page, even if rows before the item come and go', async () => {
    const mirror = await mirrored({ sandbox: { conversations: [300] } });
    const inbox = firstInbox(mirror.sandbox);
    const ids = firstIds(inbox.conversations, 300);
    const watched = ids[250]!;
    const checkNextChange = async (status: string): Promise<void> => {
      const [seen] = await mirror.database.query<{ at: Date }>(
        `SELECT fetched_at AS at FROM sweep_pages, ${mirror.database.dialect.texts('item_ids', 'ids')} WHERE value = $1 ORDER BY fetched_at DESC LIMIT 1`,
        watched,
      );
      mirror.clock.advance(HOUR);
      mirror.sandbox.world.setStatus(inbox.id, watched, status);
      await mirror.sync();
      const change = (await changesIn(mirror.database)).find(({ new_value: value }) => value === status);
      expect(change?.previously_seen_at).toEqual(seen!.at);
    };
    await mirror.sync();
    // Removing 240 rows before the item moves it from page 26 to page 2. Restoring them moves it back.
    removeConversations(mirror, inbox.id, ids.slice(0, 240));
    mirror.clock.advance(HOUR);
    await mirror.sync();
    for (const id of ids.slice(0, 240)) mirror.sandbox.world.restoreConversation(inbox.id, id);
    await checkNextChange('back where it was');
    await checkNextChange('where it stayed');
    removeConversations(mirror, inbox.id, ids.slice(0, 240));
    await checkNextChange('far from where it was');
  });

  test('counts the sightings of a sweep that did not complete', async () => {
    const mirror = await mirrored();
    const inbox = firstInbox(mirror.sandbox);
    const watched = inbox.conversations.order[0]!;
    await mirror.sync();
    mirror.clock.advance(HOUR);
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? { status: 404 } : undefined));
    const from = mirror.clock.now();
    await mirror.sync({ lists: ['conversations'] });
    mirror.sandbox.script(undefined);
    mirror.clock.advance(HOUR);
    mirror.sandbox.world.setStatus(inbox.id, watched, 'later');
    await mirror.sync();
    const [change] = await changesIn(mirror.database);
    expect(change!.previously_seen_at!.getTime()).toBeGreaterThanOrEqual(from);
  });

  test('of a deleted row is never the time of a sweep with a row without a readable id', async () => {
    let nameless = false;
    const mirror = await mirrored({
      wrapHttp: tampered((page, path) => {
        if (nameless && path.endsWith('/conversations')) delete page.results[0]?.['id'];
      }),
    });
    await mirror.sync();
    const removedAt = mirror.clock.now();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 1, 20));
    for (const isNameless of [true, true, false]) {
      nameless = isNameless;
      mirror.clock.advance(HOUR);
      await mirror.sync();
    }
    const [change] = await changesIn(mirror.database);
    expect(change).toMatchObject({ new_value: 'missing' });
    expect(change!.previously_seen_at!.getTime()).toBeLessThanOrEqual(removedAt);
  });
});

describe('an interrupted pass', () => {
  test('skips no list that was complete before it, in the same millisecond or by a set clock', async () => {
    for (const setBack of [0, 2 * HOUR]) {
      const mirror = await mirrored();
      await mirror.sync();
      const inbox = firstInbox(mirror.sandbox);
      mirror.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'changed');
      mirror.sandbox.world.addUser(inbox.id);
      mirror.clock.setWall(-setBack);
      mirror.sandbox.script(() => 'reset');
      expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
      mirror.sandbox.script(undefined);
      expect((await mirror.sync()).pass.resumed).toBe(true);
      await expectEqualToService(mirror);
    }
  });
});

test('a pass does not wait for an hour when the machine’s clock is set back an hour', async () => {
  const { sync, sandbox } = await quickMirror({ sandbox: { conversations: [1, 1, 1, 1] } });
  const { now } = Date;
  onTestFinished(() => void vi.restoreAllMocks());
  sandbox.script(() => {
    if (sandbox.arrivals.length === 2) vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
    return undefined;
  });

  const { lists } = await sync();

  expect(lists.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 13 }, () => 'complete'));
});
