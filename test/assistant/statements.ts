import * as fc from 'fast-check';

/** A path that hostile statements try to read and to write. */
export interface Targets {
  readonly secretFile: string;
  readonly newFile: string;
}

const WRITES = [
  `INSERT INTO inboxes (id, raw, content_hash, first_seen_at, changed_at) VALUES ('x', '{}', '', now(), now())`,
  `UPDATE conversations SET status = 'hacked'`,
  `DELETE FROM conversations`,
  `DROP TABLE conversations`,
  `DROP VIEW backlog_now`,
  `CREATE TABLE stolen AS SELECT * FROM conversations`,
  `SELECT * INTO stolen FROM conversations`,
  `ALTER TABLE conversations RENAME TO gone`,
  `TRUNCATE conversations`,
  `REPLACE INTO inboxes (id) VALUES ('x')`,
  `WITH gone AS (DELETE FROM conversations RETURNING *) SELECT * FROM gone`,
  `INSERT INTO changes DEFAULT VALUES RETURNING id`,
  `VACUUM`,
  `REINDEX`,
  `ANALYZE`,
  `BEGIN`,
  `COMMIT`,
  `ROLLBACK`,
  `SET default_transaction_read_only = off`,
  `SET ROLE postgres`,
  `RESET ALL`,
  `LOCK TABLE conversations`,
  `SELECT * FROM conversations FOR UPDATE`,
  `DO 'BEGIN DELETE FROM conversations; END'`,
  `EXPLAIN ANALYZE DELETE FROM conversations`,
  `LISTEN x`,
  `NOTIFY x`,
  `CALL x()`,
  `PREPARE p AS DELETE FROM conversations`,
  `CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
  `CREATE ROLE thief SUPERUSER`,
  `ALTER SYSTEM SET log_statement = 'all'`,
] as const;

const PRAGMAS = [
  'PRAGMA journal_mode = DELETE',
  'PRAGMA wal_checkpoint(TRUNCATE)',
  'PRAGMA writable_schema = ON',
  'PRAGMA query_only = OFF',
  'PRAGMA hard_heap_limit = 1',
  'PRAGMA database_list',
  'PRAGMA user_version = 7',
  'SELECT * FROM pragma_database_list',
  `SELECT * FROM pragma_table_info('conversations')`,
  'SELECT sql FROM sqlite_master',
  'SELECT rolpassword FROM pg_authid',
  'SELECT * FROM pg_stat_activity',
  'SELECT * FROM pg_hba_file_rules',
  'SELECT * FROM information_schema.tables',
  'TABLE conversations',
  'SHOW ALL',
] as const;

/** Calls of functions with effects, as expressions. */
function callsOf({ secretFile, newFile }: Targets): string[] {
  return [
    `pg_read_file('${secretFile}')`,
    `pg_read_binary_file('${secretFile}')`,
    `pg_ls_dir('/')`,
    `lo_import('${secretFile}')`,
    `lo_export(1, '${newFile}')`,
    `lo_from_bytea(0, '')`,
    `pg_terminate_backend(1)`,
    `pg_cancel_backend(1)`,
    `pg_sleep(60)`,
    `pg_advisory_lock(1)`,
    `pg_reload_conf()`,
    `pg_switch_wal()`,
    `pg_notify('x', 'y')`,
    `pg_logical_emit_message(false, 'x', 'y')`,
    `set_config('transaction_read_only', 'off', false)`,
    `set_config('role', 'postgres', false)`,
    `current_setting('data_directory')`,
    `query_to_xml('DELETE FROM conversations', true, true, '')`,
    `database_to_xml(true, true, '')`,
    `nextval('changes_id_seq')`,
    `setval('changes_id_seq', 1)`,
    `dblink('host=localhost', 'SELECT 1')`,
    `txid_current()`,
    `load_extension('x')`,
    `readfile('${secretFile}')`,
    `writefile('${newFile}', 'x')`,
    `edit('x')`,
    `fts3_tokenizer('simple')`,
    `zeroblob(2000000000)`,
    `randomblob(2000000000)`,
    `repeat('x', 2000000000)`,
    `printf('%2000000000d', 1)`,
    `lpad('x', 2000000000)`,
    `generate_series(1, 1000000000)`,
  ];
}

/** Ways to hide a call from a reader that takes SQL too lightly. */
const DISGUISES: readonly ((call: string) => string)[] = [
  (call) => `SELECT ${call}`,
  (call) => `select\n\t${call.toUpperCase()}`,
  (call) => `SELECT ${call.replace('(', '/* */(')}`,
  (call) => `SELECT ${call.replace('(', ' -- x\n(')}`,
  (call) => `SELECT 1 -- x\r, ${call}`,
  (call) => `SELECT 1 /* /* */ , ${call} -- */`,
  (call) => `SELECT ${call.replace(/^(\w+)/, '"$1"')}`,
  (call) =>
    `SELECT ${call.replace(/^(\w)(\w+)/, (_all, first: string, rest: string) => `U&"\\00${first.charCodeAt(0).toString(16)}${rest}"`)}`,
  (call) => `SELECT pg_catalog.${call}`,
  (call) => `SELECT "pg_catalog" . ${call}`,
  (call) => `SELECT E'a\\'' || ${call} || ''`,
  (call) => `SELECT $$'$$ || ${call} || $$'$$`,
  (call) => `SELECT $x$'$x$, ${call}, $x$'$x$`,
  (call) => `SELECT ARRAY[${call}]`,
  (call) => `SELECT \`x\`, ${call}, \`y\``,
  (call) => `SELECT '\\', ${call}, '\\'`,
  (call) => `SELECT * FROM ${call} AS x`,
  (call) => `SELECT * FROM ${call} AS x(a)`,
  (call) => `SELECT * FROM inboxes, LATERAL ${call} AS x`,
  (call) => `WITH x AS (SELECT ${call}) SELECT * FROM x`,
  (call) => `WITH RECURSIVE ${call} AS (SELECT 1) SELECT * FROM x`,
  (call) => `WITH a(b) AS (SELECT 1), ${call} AS (SELECT 2) SELECT * FROM a`,
  (call) => `SELECT CASE WHEN 1 = 1 THEN ${call} END`,
  (call) => `SELECT id FROM conversations ORDER BY ${call}`,
  (call) => `SELECT id FROM conversations WHERE id = CAST(${call} AS TEXT)`,
  (call) => `SELECT 1 UNION ALL SELECT ${call}`,
  (call) => `VALUES (${call})`,
  (call) => `(((SELECT ${call})))`,
  (call) => `SELECT 1; SELECT ${call}`,
  (call) => `SELECT count(*) FILTER (WHERE ${call} IS NULL) FROM conversations`,
  (call) => `SELECT 1${call}`,
  (call) => `SELECT 1.${call}`,
  (call) => `EXPLAIN ANALYZE SELECT ${call}`,
];

/** Ways to put a writing statement. */
const WRAPPINGS: readonly ((statement: string) => string)[] = [
  (statement) => statement,
  (statement) => `SELECT 1; ${statement}`,
  (statement) => `${statement}; SELECT 1`,
  (statement) => `/* SELECT */ ${statement.toLowerCase()}`,
  (statement) => `WITH x AS (${statement}) SELECT 1`,
  (statement) => `SELECT * FROM (${statement}) AS x`,
  (statement) => `EXPLAIN ${statement}`,
  (statement) => `COPY (${statement}) TO PROGRAM 'touch /tmp/x'`,
  (statement) => `;${statement}`,
];

const ATTACHES = ({ secretFile, newFile }: Targets): string[] => [
  `ATTACH '${newFile}' AS x`,
  `ATTACH DATABASE '${secretFile}' AS x`,
  `DETACH main`,
  `VACUUM INTO '${newFile}'`,
  `COPY conversations TO '${newFile}'`,
  `COPY conversations FROM '${secretFile}'`,
  `COPY (SELECT 1) TO PROGRAM 'touch ${newFile}'`,
  `SELECT 1; ATTACH '${newFile}' AS x`,
];

/** Statements that are cheap to refuse or to answer. */
export function hostile(targets: Targets): fc.Arbitrary<string> {
  const call = fc.tuple(fc.constantFrom(...callsOf(targets)), fc.constantFrom(...DISGUISES));
  const write = fc.tuple(
    fc.constantFrom(...WRITES, ...PRAGMAS, ...ATTACHES(targets)),
    fc.constantFrom(...WRAPPINGS),
  );
  const noise = fc
    .array(
      fc.constantFrom(...`SELECT FROM ( ) ' " ; -- /* */ $$ \\ , * id conversations pg_sleep(9)`.split(' ')),
      {
        minLength: 1,
        maxLength: 12,
      },
    )
    .map((words) => words.join(' '));
  return fc.oneof(
    { weight: 5, arbitrary: call.map(([text, disguise]) => disguise(text)) },
    { weight: 4, arbitrary: write.map(([text, wrap]) => wrap(text)) },
    { weight: 1, arbitrary: noise },
    {
      weight: 1,
      arbitrary: fc.constantFrom('a'.repeat(20_000), '('.repeat(10_000), 'SELECT 1'.padEnd(19_000, ' +1')),
    },
  );
}

/** Statements that would run for hours or fill the memory. */
export const ENDLESS: readonly string[] = [
  'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c',
  'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c',
  `WITH RECURSIVE c(n, x) AS (SELECT 1, 'aaaaaaaa' UNION ALL SELECT n + 1, x || x FROM c WHERE n < 40)
   SELECT max(length(x)) FROM c`,
  `WITH RECURSIVE d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 1000)
   SELECT count(*) FROM d AS a, d AS b, d AS c WHERE a.n + b.n + c.n > 1`,
  `WITH RECURSIVE d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 1000)
   SELECT a.n, b.n AS m, c.n AS o FROM d AS a, d AS b, d AS c`,
];
