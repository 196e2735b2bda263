import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A file that a page loads. */
export interface Asset {
  readonly path: string;
  /** The path with a part that changes with the content, so that browsers keep it for ever. */
  readonly href: string;
  readonly type: string;
  readonly content: Buffer;
}

const FOLDER = join(import.meta.dirname, '../assets');

const FILES = {
  style: ['style.css', 'text/css; charset=utf-8'],
  script: ['live.js', 'text/javascript; charset=utf-8'],
  icon: ['icon.svg', 'image/svg+xml'],
} as const;

export type Assets = Readonly<Record<keyof typeof FILES, Asset>>;

/** Reads the files that every page loads. */
export async function readAssets(): Promise<Assets> {
  const assets = await Promise.all(
    Object.entries(FILES).map(async ([key, [name, type]]) => {
      const content = await readFile(join(FOLDER, name));
      const hash = createHash('sha256').update(content).digest('base64url').slice(0, 12);
      const path = `/assets/${name}`;
      return [key, { path, href: `${path}?v=${hash}`, type, content }] as const;
    }),
  );
  return Object.fromEntries(assets) as Assets;
}
