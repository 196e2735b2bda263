import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSqlite } from './copies.ts';
import type { Peer } from './peer.ts';
import { airbytePeer, dltPeer, singerPeer } from './python-peers.ts';
import type { Environments } from './python.ts';

const here = import.meta.dirname;
const root = join(here, '../..');
const program = join(root, 'bin/inbox-mirror.cjs');

/** Every process of Node reports its CPU time and memory. */
const NODE = ['--require', join(here, 'usage/usage.cjs')];

/** The script uses our tables too. */
const SQL = `
  SELECT inbox_id, id, status, assignee_id, (
    SELECT group_concat(tag_id) FROM conversation_tags t
    WHERE t.inbox_id = c.inbox_id AND t.conversation_id = c.id) AS tag_ids
  FROM conversations c WHERE deleted_at IS NULL`;

/** The daemon starts so long before the changes, and sends at its usual pace: a service runs all day. */
const WARM_UP_MINUTES = 10;

/** The state folder is the place's own: mirrors of one machine would share the day's budget. */
const MIRROR_ENV = { DATABASE_URL: 'file:./copy.db', INBOX_STATE_DIR: 'state', HTTP_PORT: '0' };

const mirror: Peer = {
  name: 'inbox-mirror',
  versions: `inbox-mirror ${versionIn('package.json')}`,
  storage: 'SQLite',
  once: () => ({ command: process.execPath, args: [...NODE, program, 'sync'], env: MIRROR_ENV }),
  resident: () => ({ command: process.execPath, args: [...NODE, program, 'start'], env: MIRROR_ENV }),
  warmUpMinutes: WARM_UP_MINUTES,
  read: ({ folder }) => readSqlite(folder, SQL),
  variant: null,
};

const script: Peer = {
  name: 'script',
  versions: ['got', '@prisma/client', 'node-cron']
    .map((name) => `${name} ${versionIn(`node_modules/${name}/package.json`)}`)
    .join(', '),
  storage: 'SQLite',
  once: () => ({ command: process.execPath, args: [...NODE, join(here, 'script/script.ts')] }),
  resident: (expression) => ({
    command: process.execPath,
    args: [...NODE, join(here, 'script/script.ts'), expression],
  }),
  warmUpMinutes: 0,
  read: ({ folder }) => readSqlite(folder, SQL),
  variant: { name: 'script, marks what it misses', env: { MARK_GONE: '1' } },
};

/** The peers that need no Python, and those whose environments are there. */
export function peersWith({ dlt, singer, target, airbyte }: Environments): Peer[] {
  const peers = [mirror, script];
  if (dlt !== undefined) peers.push(dltPeer(dlt));
  if (singer !== undefined && target !== undefined) peers.push(singerPeer(singer, target));
  if (airbyte !== undefined) peers.push(airbytePeer(airbyte));
  return peers;
}

function versionIn(file: string): string {
  return (JSON.parse(readFileSync(join(root, file), 'utf8')) as { version: string }).version;
}
