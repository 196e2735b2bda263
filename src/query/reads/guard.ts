import { MirrorError } from '../../core/errors.ts';
import { nameOf, type SqlToken, tokensOf } from '../tokens.ts';

/** A statement that reads begins with one of these. */
const FIRST: ReadonlySet<string> = new Set(['select', 'with', 'values']);

/** Words of SQL, and types, that may stand before a parenthesis. */
const WORDS = `
  all and any as asc between by case cast cross desc distinct else except exists extract filter from
  group having in inner intersect interval is join lateral left like ilike limit materialized not null
  nulls offset on or order outer over partition range recursive rows select some then union using
  values when where window with within bigint char character date decimal double float int integer
  numeric real text time timestamp timestamptz varchar`;

/** Functions that compute a value from their arguments, need little memory, and have no other effect. */
const FUNCTIONS = `
  abs age array_length avg bool_and bool_or cardinality ceil ceiling char_length chr coalesce concat
  concat_ws corr count cume_dist current_date date date_bin date_part date_trunc datetime dense_rank
  div exp extract first_value floor greatest group_concat iif ifnull initcap instr json_array_elements
  json_array_elements_text json_array_length json_each json_extract json_tree json_typeof json_valid
  jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_each jsonb_each_text
  jsonb_extract_path jsonb_extract_path_text jsonb_typeof julianday justify_days justify_hours
  justify_interval lag last_value lead least left length ln log lower ltrim make_date make_interval
  max md5 min mod mode now nth_value ntile nullif octet_length percent_rank percentile_cont
  percentile_disc position power pow rank regexp_count regexp_like regexp_match regexp_replace
  regexp_substr replace reverse right round row row_number rtrim sign split_part sqrt starts_with
  stddev stddev_pop stddev_samp strftime string_agg strpos strtotime substr substring sum timediff
  to_char to_date to_number to_timestamp total trim trunc typeof unixepoch unnest upper var_pop
  var_samp variance width_bucket`;

const ALLOWED: ReadonlySet<string> = new Set(`${WORDS} ${FUNCTIONS}`.trim().split(/\s+/));

/** True for a function that only computes, in either notation of a call. */
export function isAllowed(name: string): boolean {
  return ALLOWED.has(name);
}

/**
 * The catalogues of the databases and their settings: they hold passwords' hashes and paths, not the mirror.
 */
const CATALOGUE = /^(?:pg_|pragma_|sqlite_|information_schema$|dbstat$)/;

/** A cast to one of these types of PostgreSQL reads a catalogue; `_` before it makes an array. */
const CATALOGUE_TYPES = `
  aclitem regclass regcollation regconfig regdatabase regdictionary regnamespace regoper regoperator
  regproc regprocedure regrole regtype`;

const CATALOGUE_TYPE = new RegExp(`^_?(?:${CATALOGUE_TYPES.trim().split(/\s+/).join('|')})$`);

/** SQLite reads a string in FROM as the name of a table. */
const CATALOGUE_AS_STRING = /^'(?:pragma_|sqlite_|dbstat'$)/i;

/** A number of SQL; the sign of its exponent is a token of its own. */
const NUMBER = /^(?:0[box][\da-f_]+|[\d_]+(?:\.[\d_]*)?(?:e\d*)?)$/i;

/**
 * The statement, if it can only read the mirror. The connection refuses writes in any case; this check
 * refuses what reads, stops or fills something else: functions with effects, settings, catalogues. On
 * PostgreSQL `fields.ts` also checks the names after dots.
 * @throws MirrorError `USAGE`, which names what is refused and what to write in its place
 */
export function onlyReading(sql: string): string {
  // One database ends a comment at a carriage return, the other does not.
  const text = sql.replaceAll(/\r\n?/g, '\n');
  const tokens = tokensOf(text);
  refuseAmbiguous(text, tokens);
  const first = tokens.find((token) => token.text !== '(');
  if (first !== undefined && !FIRST.has(nameOf(first)))
    throw refusal(`A statement that begins with ${shown(first)}`, 'Begin with SELECT or WITH');
  for (const [index, token] of tokens.entries()) {
    if (/^\d/.test(token.text) && tokens[index + 1]?.text === '(')
      throw refusal(shown(token), 'A number is not a function');
    if (/^\d/.test(token.text) && !NUMBER.test(token.text))
      throw refusal(`The number ${shown(token)}`, 'Write a space after a number');
    if (tokens[index - 1]?.text === '.' && !/^[\d*]/.test(token.text) && !isName(token))
      throw refusal(`${shown(token)} after a dot`, 'Write the name of a column there, or *');
    const name = nameOf(token);
    const isCatalogue = CATALOGUE.test(name) || CATALOGUE_TYPE.test(name);
    if (isName(token) ? isCatalogue : CATALOGUE_AS_STRING.test(token.text))
      throw refusal(
        `The name ${shown(token)}`,
        'The catalogue of the database is closed; the tables and views of the mirror are open',
      );
    if (tokens[index + 1]?.text !== '(') continue;
    // SQLite also takes a string for the name of a function whose result is a table.
    if (token.text.startsWith("'"))
      throw refusal(`The function ${shown(token)}`, 'Write its name without quotes');
    if (!isName(token)) continue;
    // A person with the right to create functions can give one of them an allowed name.
    if (tokens[index - 1]?.text === '.')
      throw refusal(`The function ${shown(token)} of a schema`, 'Write its name without the schema');
    if (ALLOWED.has(name)) continue;
    if (isCommonTable(tokens, index)) continue;
    throw refusal(
      `The function ${shown(token)}`,
      'Use functions that compute a value, such as count, coalesce, round or date_trunc; give the columns ' +
        'of a common table expression their names inside it, with AS',
    );
  }
  return text;
}

/** These may stand before the first word of a statement. */
const BEFORE: ReadonlySet<string> = new Set([';', 'explain', 'query', 'plan']);

/** A pragma that is read like a table. SQLite takes each kind of quotes, also those of a string. */
const PRAGMA_AS_TABLE = /^["'`[]?pragma_/i;

/**
 * A statement for SQLite, whose connection refuses writes. A pragma would change how the connection answers
 * other people, or stop it. Those that are read like tables are refused as on PostgreSQL.
 * @throws MirrorError `USAGE` if the statement is a pragma, or reads one
 */
export function withoutPragma(sql: string): string {
  const tokens = tokensOf(sql);
  const first = tokens.find((token) => !BEFORE.has(nameOf(token)));
  const isPragma = first !== undefined && nameOf(first) === 'pragma';
  if (isPragma || tokens.some(({ text }) => PRAGMA_AS_TABLE.test(text)))
    throw refusal(
      'A pragma',
      'The catalogue of the database is closed; the tables and views of the mirror are open',
    );
  return sql;
}

/**
 * Refuses characters that the databases and this check may read differently: a text that looks like a
 * string here must be one there.
 */
function refuseAmbiguous(text: string, tokens: readonly SqlToken[]): void {
  const control = /[\p{Cc}--[\t\n]]/v.exec(text);
  if (control !== null) throw refusal('A control character', 'Leave it out');
  const gaps = gapsOf(text, tokens);
  if (gaps.some((gap) => /\/\*(?:(?!\*\/)[^])*\/\*/.test(gap)))
    throw refusal('A comment inside a comment', 'Leave it out');
  // PostgreSQL reads a character beyond ASCII as a letter, and a digit after it as a part of the name.
  const strange = /[^\0-\x7F]/u.exec(
    [
      ...gaps.map((gap) => gap.replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, '')),
      ...tokens.filter((token) => !isName(token) && !token.text.startsWith("'")).map((token) => token.text),
    ].join(' '),
  );
  if (strange !== null)
    throw refusal(`The character ${JSON.stringify(strange[0])} outside of a string`, 'Leave it out');
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    const isPrefix =
      next !== undefined && next.at === token.at + token.text.length && /^['"]/.test(next.text);
    if (/^[[`]/.test(token.text)) throw refusal(shown(token), 'Write names in double quotes');
    if (/\$/.test(token.text) && !/^['"]/.test(token.text))
      throw refusal('The character $ outside of a string', 'Write the value itself');
    if (isName(token) && isPrefix && !token.text.startsWith('"'))
      throw refusal(`A string with the prefix ${shown(token)}`, 'Write a plain string');
    if (token.text === '&' && isPrefix) throw refusal('A string with the prefix U&', 'Write a plain string');
  }
}

/**
 * The spaces and comments between the tokens. Of a comment inside a comment, PostgreSQL ends the outer one at
 * its own end, SQLite at the first end of any.
 */
function gapsOf(text: string, tokens: readonly SqlToken[]): string[] {
  const ends = [0, ...tokens.map((token) => token.at + token.text.length)];
  const begins = [...tokens.map(({ at }) => at), text.length];
  return ends.map((end, index) => text.slice(end, begins[index]));
}

function isName({ text }: SqlToken): boolean {
  return /^["\p{L}_]/u.test(text);
}

/** `WITH name(columns) AS (`: only right after WITH, where no function can stand. */
function isCommonTable(tokens: readonly SqlToken[], index: number): boolean {
  const before = tokens[index - 1];
  return before !== undefined && ['with', 'recursive'].includes(before.text.toLowerCase());
}

/** At most 40 characters of a name in the message. */
function shown({ text }: SqlToken): string {
  return JSON.stringify(text.slice(0, 40));
}

/** The error of a statement that is refused: what it holds, and what to write in its place. */
export function refusal(what: string, instead: string): MirrorError {
  return new MirrorError(
    'USAGE',
    `${what} is refused here: statements may only read the mirror. ${instead}.`,
  );
}
