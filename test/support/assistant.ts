import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished } from 'vitest';
import { SECRET } from './program.ts';

export const BIN = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');

/** The official client, connected to a real `inbox-mirror mcp`. */
export interface TestAssistant {
  readonly client: Client;
  readonly pid: number;
  /** Calls a tool. Checks that the answer does not hold the API key. */
  ask(tool: string, input?: Record<string, unknown>): Promise<Answer>;
  /** All that the server has printed to stderr. */
  readonly errors: () => string;
}

export interface Answer {
  readonly isError: boolean;
  readonly text: string;
}

export async function startAssistant(databaseUrl: string, ...argv: string[]): Promise<TestAssistant> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp', ...argv],
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: databaseUrl, INBOX_API_KEY: SECRET },
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (data: Buffer) => (errors += data.toString()));
  const client = new Client({ name: 'test', version: '0.0.0' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    pid: transport.pid ?? 0,
    async ask(name, input = {}) {
      const result = await client.callTool({ name, arguments: input }, { timeout: 60_000 });
      const [block] = result.content;
      const text = block?.type === 'text' ? block.text : '';
      expect(JSON.stringify(result)).not.toContain(SECRET);
      return { isError: result.isError === true, text };
    },
    errors: () => errors,
  };
}

/** The data in an answer, which stands between two lines with the same mark. */
export function dataOf({ text, isError }: Answer): unknown {
  expect(isError, text).toBe(false);
  const [, , json = ''] = /^<(mirror-data-[0-9a-f]{12})>\n(.*)\n<\/\1>$/ms.exec(text) ?? [];
  return JSON.parse(json);
}
