import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestMirror } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { ask } from './support.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');

interface Card {
  readonly name: string;
  readonly display: string;
  readonly dataset_query: { readonly native: { readonly query: string } };
  readonly visualization_settings: Readonly<Record<string, unknown>>;
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly type: string;
    readonly targets: readonly { readonly rawSql: string; readonly format: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(join(DEPLOY, file), 'utf8'));
}

/**
 * Asks the questions for Metabase, and on PostgreSQL those of the dashboard for Grafana. Each must have rows, and
 * the columns that its chart shows.
 */
export async function askToolQuestions(mirror: Pick<TestMirror, 'database' | 'clock'>): Promise<void> {
  const cards = read('metabase/questions.json') as Card[];
  expect(cards.length).toBeGreaterThan(6);
  for (const { name, display, dataset_query: asked, visualization_settings: chart } of cards) {
    const [row] = await ask(mirror, asked.native.query);
    expect(row, name).toBeDefined();
    const shown = ['graph.dimensions', 'graph.metrics'].flatMap((key) => (chart[key] ?? []) as string[]);
    expect(Object.keys(row!), name).toEqual(expect.arrayContaining(shown));
    expect(shown.length > 0, name).toBe(display !== 'table');
  }
  if (!ON_SQLITE) await askGrafana(mirror);
}

async function askGrafana(mirror: Pick<TestMirror, 'database' | 'clock'>): Promise<void> {
  const { panels, templating } = read('grafana/conversations.json') as Dashboard;
  const variable = templating.list.find(({ name }) => name === 'inbox')!.query;
  const inboxes = (await ask(mirror, variable)).map((row) => `'${String(row['__value'])}'`);
  expect(inboxes).toHaveLength(2);
  for (const { title, type, targets } of panels)
    for (const { rawSql, format } of targets) {
      const [row] = await ask(mirror, withoutMacros(rawSql, inboxes.join(',')));
      expect(row, title).toBeDefined();
      expect(format, title).toBe(type === 'timeseries' ? 'time_series' : 'table');
      if (type === 'timeseries') expect(Object.keys(row!), title).toContain('time');
      expect(Object.values(row!).filter((value) => value !== null).length, title).toBeGreaterThan(0);
    }
}

/** The SQL that Grafana sends for a time range and an interval of an hour. */
function withoutMacros(sql: string, inboxes: string): string {
  const asked = sql
    .replaceAll(
      /\$__timeFilter\((\w+)\)/g,
      (_macro, column: string) => `${column} BETWEEN '2026-02-10T00:00:00Z' AND '2026-03-10T00:00:00Z'`,
    )
    .replaceAll(
      /\$__timeGroup\((\w+), \$__interval\)/g,
      (_macro, column: string) => `floor(extract(epoch from ${column})/3600)*3600`,
    )
    // oxlint-disable-next-line no-template-curly-in-string -- Grafana's own syntax.
    .replaceAll('${inbox:sqlstring}', inboxes);
  expect(asked).not.toMatch(/\$/);
  return asked;
}
