import type { Rows } from './lanes.ts';

/** Where a peer works: its folder, in which it keeps its copy, and the address of its sandbox. */
export interface Place {
  readonly folder: string;
  readonly url: string;
}

/** A process to start in the place's folder. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files to write into the folder first, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** stdout goes to this file, which takes its name if the process ends well; undefined: to the log. */
  readonly output?: string;
}

/** A peer's copy of the conversations: the rows that it shows as present. */
export interface Copy {
  readonly rows: Rows;
  /** Rows that stand in the copy more than once. */
  readonly doubled: number;
}

/** A way to copy the account. The configuration of each lies beside this file. */
export interface Peer {
  readonly name: string;
  /** Its packages with their versions. */
  readonly versions: string;
  readonly storage: string;
  /** Reads everything once. */
  once(place: Place): Start;
  /** Stays and repeats by itself; null: cron starts `once`. `expression` is one of cron. */
  readonly resident: ((expression: string) => Start) | null;
  /** The minutes for which a process that stays runs before the changes begin; 0: it starts with them. */
  readonly warmUpMinutes: number;
  /** The copy as a reader finds it now; no rows if there is none yet. */
  read(place: Place): Copy;
  /** Another documented setting, tried with the truncated page only. */
  readonly variant: { readonly name: string; readonly env: Readonly<Record<string, string>> } | null;
}
