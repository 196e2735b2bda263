import { expect, test } from 'vitest';
import { mirrorOf } from '../support/mirror.ts';
import { firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The most rows that one step of a plan has made or left out, over all its repetitions. */
function mostRows(node: PlanNode): number {
  const left = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  const own = (node['Actual Rows'] + left) * node['Actual Loops'];
  return Math.max(own, ...(node.Plans ?? []).map((inner) => mostRows(inner)));
}

const MANY = 2000;

test('conversation_facts goes through its rows a few times at most, whatever condition it is asked with', async () => {
  const mirror = await mirrorOf({ path: await freshMirrorFile(), sandbox: { conversations: [5] } });
  await mirror.sync();
  const { database, sandbox } = mirror;
  const { id: inboxId } = firstInbox(sandbox);
  const many = `generate_series(1, ${MANY}) AS n`;
  const status = `CASE n % 5 WHEN 0 THEN 'open' ELSE 'closed' END`;
  const assignee = `CASE n % 3 WHEN 0 THEN '1' END`;
  for (const statement of [
    `INSERT INTO inbox_users (inbox_id, id, first_name, raw, content_hash, first_seen_at, changed_at)
     VALUES ($1, '1', 'Ada', '{}', 'x', now(), now())`,
    `INSERT INTO conversations (inbox_id, id, status, assignee_id, raw, content_hash, first_seen_at, changed_at)
     SELECT $1, n, ${status}, ${assignee}, '{}', 'x', now(), now() FROM ${many}`,
    `INSERT INTO status_spans (inbox_id, conversation_id, status, from_at, is_lower_bound)
     SELECT $1, n, ${status}, now(), false FROM ${many}`,
    `INSERT INTO assignee_spans (inbox_id, conversation_id, assignee_id, from_at, is_lower_bound)
     SELECT $1, n, ${assignee}, now(), false FROM ${many}`,
  ])
    await database.execute(statement, inboxId);
  await database.execute('ANALYZE');
  for (const condition of [
    `meaning = 'final'`,
    `status = 'closed'`,
    `assignee_id = '1'`,
    `assignee = 'Ada'`,
    `first_assignee = 'Ada' AND meaning = 'final' AND deleted_at IS NULL`,
    `meaning = 'final' AND deleted_at IS NULL AND NOT is_lower_bound AND closes >= 0`,
  ]) {
    const [row] = await database.query<Record<string, [{ Plan: PlanNode }]>>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM conversation_facts WHERE ${condition}`,
    );
    const plan = row!['QUERY PLAN']![0].Plan;
    expect(plan['Actual Rows']).toBeGreaterThan(0);
    expect(mostRows(plan), condition).toBeLessThan(10 * MANY);
  }
});
