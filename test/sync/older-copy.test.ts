import { expect, test } from 'vitest';
import type { Http } from '../../src/service/http.ts';
import { mirrorOf } from '../support/mirror.ts';
import { count, firstInbox, reportOn } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

/** A mirror that `replace` changes once, while the third page of the conversations is on its way. */
async function replacedMirror(replace: readonly string[]) {
  let requests: number | null = null;
  const wrapHttp = (http: Http): Http => ({
    close: http.close,
    async get(path, query) {
      const answer = await http.get(path, query);
      if (requests === null || !path.endsWith('/conversations')) return answer;
      requests += 1;
      if (requests !== 3) return answer;
      for (const statement of replace) await mirror.database.execute(statement);
      return answer;
    },
  });
  const mirror = await mirrorOf({ pageSize: 10, wrapHttp, sandbox: { conversations: [45] } });
  await mirror.sync();
  requests = 0;
  return mirror;
}

const NEWEST = `(SELECT max(id) FROM sweeps WHERE list = 'conversations')`;

// A server that an older copy has replaced, such as a replica that was behind.
test.each([
  [
    'no longer has',
    [`DELETE FROM sweep_pages WHERE sweep_id = ${NEWEST}`, `DELETE FROM sweeps WHERE id = ${NEWEST}`],
  ],
  [
    'has with fewer pages',
    [
      `DELETE FROM sweep_pages WHERE sweep_id = ${NEWEST} AND page_no > 1`,
      `UPDATE sweeps SET pages = 1 WHERE id = ${NEWEST}`,
    ],
  ],
  [
    'has given to another list',
    [
      `DELETE FROM sweep_pages WHERE sweep_id = ${NEWEST}`,
      `UPDATE sweeps SET list = 'tags' WHERE id = ${NEWEST}`,
    ],
  ],
])(
  'a sweep that an older copy of the mirror %s suspects no row, and the next one heals',
  async (_what, replace) => {
    const mirror = await replacedMirror(replace);
    const inbox = firstInbox(mirror.sandbox).id;
    const report = await mirror.sync({ lists: ['conversations'] });
    expect(reportOn(report, 'conversations', inbox)).toMatchObject({
      outcome: 'failed',
      error: { code: 'SWEEP_ENDED', message: expect.stringContaining('an older copy') },
    });
    expect(await count(mirror.database, 'conversations WHERE missing_since IS NOT NULL')).toBe(0);
    expect((await mirror.sync()).stopped).toBeNull();
    await expectEqualToService(mirror);
  },
);
