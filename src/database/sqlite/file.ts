import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf, MirrorError } from '../../core/errors.ts';

/** The path in a `file:` address, relative to the working directory. */
export function sqlitePath(url: string): string {
  return resolve(url.replace(/^file:(\/\/(?=\/))?/, ''));
}

/** Bytes on disk of the mirror's file and of its write-ahead log; one that cannot be looked at counts 0. */
export function databaseBytes(path: string): number {
  return sizeOf(path) + sizeOf(`${targetOf(path)}-wal`);
}

/** The file behind a link, or the path itself. SQLite keeps the side files beside that file. */
function targetOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function sizeOf(path: string): number {
  return lookAt(path)?.size ?? 0;
}

/** SQLite keeps these two beside the database: its write-ahead log, and the index of it. */
const SIDE_FILES = ['-wal', '-shm'];

/** The files of an open database, as they were when it was opened. */
export interface OpenFiles {
  /** Remembers the side files, once the database is open in WAL mode. */
  rememberSides(): void;
  /**
   * The path of the first file that was deleted or replaced since, or of the database if it became smaller;
   * null if there is none.
   */
  lost(): string | null;
  /**
   * The file that has the database's name now. Behind a link it is the name that the link led to at the
   * opening: if the link leads to another file now, the opened one still exists.
   */
  atName(): 'opened' | 'another' | 'none';
  /** Deletes the side files, provided that they are the remembered ones. */
  removeSides(): void;
}

/** Remembers a database before it is opened: to open it may take minutes, and another may take its place. */
export function rememberFiles(path: string): OpenFiles {
  const target = targetOf(path);
  const sides = SIDE_FILES.map((side) => target + side);
  const opened = new Map([path, target].map((file) => [file, identity(file)]));
  const isUnchanged = (file: string): boolean | null => isAsOpened(file, opened.get(file) ?? null);
  const isLost = (file: string): boolean => isUnchanged(file) === false;
  // The program never makes it smaller. Its header cannot be read here: closing another descriptor of the
  // file would release the locks of SQLite in this process.
  let largest = 0;
  const atName = (): 'opened' | 'another' | 'none' => {
    const file = lookAt(target);
    // A failed look shows nothing of the file, which is open.
    if (file === undefined || identityOf(file) === opened.get(target)) return 'opened';
    return file === null ? 'none' : 'another';
  };
  return {
    rememberSides() {
      for (const side of sides) opened.set(side, identity(side));
      largest = sizeOf(path);
    },
    lost() {
      if (atName() !== 'opened') return path;
      const size = lookAt(path)?.size ?? largest;
      if (size < largest) return path;
      largest = size;
      return [...opened.keys()].find(isLost) ?? null;
    },
    atName,
    removeSides() {
      for (const side of sides) if (isUnchanged(side) === true) removeQuietly(side);
    },
  };
}

/**
 * For a connection that only reads: the path, if its file was deleted or another took its place since; else
 * null. It deletes no side files: they may be those of the new file.
 */
export function rememberFile(path: string): Pick<OpenFiles, 'lost'> {
  const opened = identity(path);
  return { lost: () => (isAsOpened(path, opened) === false ? path : null) };
}

/** A file that cannot be removed stays: the database is lost all the same, and its daemon must park. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Its folder may be another account's now.
  }
}

/** True if the path leads to the opened file, or to none as then. Null if a look at it fails. */
function isAsOpened(path: string, opened: string | null): boolean | null {
  const file = lookAt(path);
  return file === undefined ? null : identityOf(file) === opened;
}

/** Null if there is no file. Undefined if the look fails: its folder is shut, or the disk fails. */
function lookAt(path: string): Stats | null | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return undefined;
  }
}

/** Differs between two files of the same name; null if there is no file. */
export function identity(path: string): string | null {
  return identityOf(statSync(path, { throwIfNoEntry: false }) ?? null);
}

function identityOf(file: Stats | null): string | null {
  return file === null ? null : `${file.dev}:${file.ino}`;
}

/**
 * Creates a missing file with mode 0600, since its content is private. SQLite gives its side files the same
 * mode.
 * @throws MirrorError `DATABASE`
 */
export function makePrivateFile(path: string): void {
  try {
    if (existsSync(path)) return;
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  } catch (error) {
    throw cannotCreate(path, error);
  }
}

/** Checks that a missing file could be created, without creating it. @throws MirrorError `DATABASE` */
export function checkCreatable(path: string): void {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw cannotCreate(path, error);
  }
}

function cannotCreate(path: string, error: unknown): MirrorError {
  return new MirrorError(
    'DATABASE',
    `Cannot create the database file ${path}: ${messageOf(error)}. ` +
      `Check that the folder ${dirname(path)} exists and is writable, or name another file ` +
      '(DATABASE_URL; for the demo --database).',
    { cause: error },
  );
}
