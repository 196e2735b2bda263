import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY } from '../processes.ts';
import { readLines, readSqlite, type Row } from './copies.ts';
import type { Peer } from './peer.ts';

const here = import.meta.dirname;

/** Every process of Python reports its CPU time and memory: it loads sitecustomize.py from there. */
const ENV = { PYTHONPATH: join(here, 'usage') };

/** @param environment the folder of a Python environment with dlt/requirements.txt */
export function dltPeer(environment: string): Peer {
  const sql = 'SELECT _inboxes_id AS inbox_id, id, status, assignee_id, tag_ids FROM conversations';
  return {
    name: 'dlt',
    versions: pinned('dlt/requirements.txt', 'dlt'),
    storage: 'SQLite',
    once: () => ({
      command: join(environment, 'bin/python'),
      args: [join(here, 'dlt/pipeline.py')],
      // The documented strategy that readers do not notice; the default empties the table first.
      env: {
        ...ENV,
        RUNTIME__DLTHUB_TELEMETRY: 'false',
        DESTINATION__REPLACE_STRATEGY: 'insert-from-staging',
      },
    }),
    resident: null,
    warmUpMinutes: 0,
    read: ({ folder }) => readSqlite(folder, sql),
    variant: { name: 'dlt, merges', env: { WRITE_DISPOSITION: 'merge' } },
  };
}

/** Tap and target are two processes with an environment each, joined by a pipe. */
export function singerPeer(environment: string, targetEnvironment: string): Peer {
  return {
    name: 'singer',
    versions: [
      pinned('singer/requirements.txt', 'singer-sdk'),
      pinned('singer/target-requirements.txt', 'target-jsonl'),
    ].join(', '),
    storage: 'JSON lines',
    once: ({ url }) => ({
      command: 'bash',
      args: ['-o', 'pipefail', '-c', '"$PYTHON" "$TAP" --config=ENV | "$TARGET"'],
      env: {
        ...ENV,
        PYTHON: join(environment, 'bin/python'),
        TAP: join(here, 'singer/tap_inbox.py'),
        TARGET: join(targetEnvironment, 'bin/target-jsonl'),
        TAP_INBOX_API_URL: url,
        TAP_INBOX_API_KEY: KEY,
      },
    }),
    resident: null,
    warmUpMinutes: 0,
    read: ({ folder }) => readLines(folder, 'conversations-*.jsonl', (line) => line as Row),
    variant: null,
  };
}

interface AirbyteMessage {
  readonly type: string;
  readonly record?: {
    readonly stream: string;
    readonly data: Omit<Row, 'tag_ids' | 'assignee_id'> & {
      readonly assignee?: unknown;
      readonly tag_ids: readonly string[];
    };
  };
}

/** No destination of Airbyte runs without its platform: the file of the last good run is the copy. */
export function airbytePeer(environment: string): Peer {
  const [manifest, catalog] = [join(here, 'airbyte/manifest.yaml'), join(here, 'airbyte/catalog.json')];
  return {
    name: 'airbyte',
    versions: pinned('airbyte/requirements.txt', 'airbyte-cdk'),
    storage: 'JSON lines',
    once: ({ url }) => ({
      command: join(environment, 'bin/source-declarative-manifest'),
      args: ['read', '--config', 'config.json', '--catalog', catalog, '--manifest-path', manifest],
      env: ENV,
      files: { 'config.json': JSON.stringify({ api_url: `${url}/`, api_key: KEY }) },
      output: 'run.jsonl',
    }),
    resident: null,
    warmUpMinutes: 0,
    read: ({ folder }) => readLines(folder, 'run.jsonl', (line) => airbyteRow(line as AirbyteMessage)),
    variant: null,
  };
}

function airbyteRow({ record }: AirbyteMessage): Row | null {
  if (record?.stream !== 'conversations') return null;
  const { inbox_id, id, status, assignee, tag_ids: tags } = record.data;
  const assigned = assignee as { assignee_id?: string | null } | null | undefined | '' | 0;
  const assigneeId = typeof assigned === 'object' ? (assigned?.assignee_id ?? null) : null;
  return { inbox_id, id, status, assignee_id: assigneeId, tag_ids: tags.join(',') };
}

/** A package with its version, as a file of requirements pins it. */
function pinned(file: string, name: string): string {
  const text = readFileSync(join(here, file), 'utf8');
  return `${name} ${new RegExp(`^${name}==(.+)$`, 'm').exec(text)?.[1] ?? '(not pinned)'}`;
}
