import { thousands } from '../../src/core/humanize.ts';

/** The fixed sentences of docs/comparison.md. */

export const HEAD = `# Compared with other programs

\`npm run bench:peers -- --write\` writes this page. It copies the same invented account with inbox-mirror
and with what people use otherwise. The limits of the service are those of its specification: one request
a second and 5,000 a day.

- *inbox-mirror*: \`sync\`, and the daemon for the changes
- *script*: an afternoon's work with got, Prisma and node-cron
- *dlt*: its REST API source, into SQLite
- *singer*: a tap on Meltano's Singer SDK, with the target target-jsonl
- *airbyte*: a low-code source of Airbyte's CDK

The others are general tools, and do many things that inbox-mirror does not
([below](#what-the-others-do-better)). The tables show one account, one run and one machine.
`;

export const PEERS = `## The configurations

They lie in the folder \`bench/peers\` of the repository. Each has the pace, the retries and the
resumption that its documents offer.

- **script**: got's \`pagination.backoff\` of one second, the same pause between two lists, 7 retries with
  exponential back-off, one Prisma \`upsert\` a row in a transaction a page. node-cron runs it with
  \`noOverlap\`. As a variant, it marks the conversations of a list as deleted that a run has not seen,
  and takes the mark back when one returns.
- **dlt**: \`write_disposition: replace\`, the documented choice where a source cannot say what changed,
  with the strategy \`insert-from-staging\`: the default one empties the tables before it fills them, and
  a reader sees that. As a variant \`merge\` with a primary key. 8 attempts. dlt has no option for a pace:
  its session has the adapter of the package requests-ratelimiter.
- **singer**: 8 attempts with the SDK's back-off. The SDK has no option for a pace either: its session has
  the same adapter. All streams are full tables. target-sqlite 0.2.0 needs SQLAlchemy 1.2, which does not
  load in Python 3.10 or newer, hence target-jsonl. It writes one file a run; the newest line of a key
  counts as its row.
- **airbyte**: \`HTTPAPIBudget\` with one call a second, \`use_cache\` for the inboxes, 7 retries with
  exponential back-off, one thread. Airbyte's destinations run in its platform, so a run ends in a file of
  JSON lines, which replaces the file before it, as \`overwrite\` does. A destination would add its own
  time and memory. PyAirbyte, which loads into DuckDB, was not tried.

A pace that is kept at the sender is not kept at the service: two requests may leave a second apart and
arrive closer together. The refusals come from there. inbox-mirror judges by the answers when a request
arrived; while the machine is busy it errs now and then too. After a refusal it rests for 5 seconds.

## What the others do better

- **script** is short, has no concept that its author does not know, and writes to every database that
  Prisma knows, MySQL and SQL Server among them. It is the only one besides inbox-mirror that needs no
  second runtime.
- **dlt** makes and changes the tables by itself: a new field of the service becomes a column. It loads
  into warehouses and data lakes, can keep a history (\`scd2\`), and the same file with another address
  reads another service. \`replace\` repairs each error of a copy with the next run.
- **singer**: each of the many public taps works with each of the many public targets. The processes are
  small.
- **airbyte**: a source without code; pace, retries and caching are declarations. The platform adds
  schedules, alerts, a user interface and many destinations.
- All four read any service. inbox-mirror reads one, and writes to SQLite and PostgreSQL only. It needs
  more disk for the same rows, because it keeps the raw JSON, the history and the ledger.
`;

interface Facts {
  readonly everyMinutes: number;
  readonly periods: number;
  readonly changesPerMinute: number;
  readonly pages: number;
  readonly conversations: number;
  readonly inboxes: number;
  /** Of inbox-mirror itself. */
  readonly changes: number;
  readonly reached: number;
}

/** How everything was measured. */
export function description(facts: Facts): string {
  const { everyMinutes, periods, changesPerMinute, pages, conversations, inboxes } = facts;
  const aDay = ((24 * 60) / everyMinutes) * pages;
  return `## How it was measured

- **The account**: ${inboxes} inboxes, ${thousands(conversations)} conversations, invented by the sandbox. A
  reading of all lists takes ${pages} requests of 100 rows. Every peer has a sandbox of its own, with the
  same seed and the same changes. The sandbox refuses a request that arrives less than a second after the
  one before, whether or not that one was refused.
- **A first copy**: one peer after another, into an empty folder. CPU and peak memory are those of all its
  processes, as they report them at their end; the sandbox's are not in them.
- **Changes**: ${pages} requests every ${everyMinutes} minutes are ${thousands(aDay)} a day, the most that
  5,000 allow in whole minutes. The trial cuts ${everyMinutes * periods} minutes out of such a day. All
  peers run side by side on full copies: node-cron in the script, a grid like cron's for the others, at
  minutes ${gridOf(everyMinutes, periods)}. The daemon of inbox-mirror has its default settings, so it
  spends 4,750 requests a day, and has learned nothing of this account yet. It starts ten minutes before
  the changes. Its requests before them are not in the table, but their CPU time is.
  ${changesPerMinute} changes a minute come at even intervals: new
  conversations, other states, assignees and tags. A delay runs from the change until a reader, who looks
  into the copy twice a second, finds it. Changes that remove a row are left out. A change that is undone
  before a peer reads the row counts as not reached. The requests of this table include the run at the
  end, but not the first copy.
- **A crash**: SIGKILL for all processes of the peer when half of the pages have been answered; then one
  more run. *rows doubled* counts lines of one file after another that repeat a row: target-jsonl appends
  what the killed run had written already, and its reader must take the newest line.
- **An empty page**: a full copy; then 5 conversations of one inbox are removed, and a run gets one answer
  with status 200, no rows and no next page, after 4 pages of the other inbox. A good run follows.
  *wrongly gone* counts conversations that the service still has, and that the copy lacks or shows as
  deleted.

A mean delay is that of the changes that reached the copy.${lateOf(facts)} The daemon's budget gives it 3 to 4
requests a minute, and in ${everyMinutes * periods} minutes it cannot learn which of the older pages change.
Four repetitions in virtual time on 2026-11-22, which are not part of the command, showed this: after 12
minutes 43 to 45 of 60 changes had reached the copy, after 30 minutes 58 to 60. [freshness.md](freshness.md)
measures days.

All figures but the first copy's were taken while several peers ran at a time. They vary from run to run,
the refusals most of all: they depend on milliseconds.
`;
}

function lateOf({ changes, reached }: Facts): string {
  if (reached === changes) return '';
  return ` ${changes - reached} of ${changes} changes had not reached the daemon's
copy at the end, so its mean is not that of all.`;
}

function gridOf(everyMinutes: number, periods: number): string {
  const minutes = Array.from({ length: periods + 1 }, (_, nth) => nth * everyMinutes);
  return `${minutes.slice(0, -1).join(', ')} and ${minutes.at(-1)}`;
}
