import { CLOSED, CLOSED_WORDS, COLUMNS, type ListName, NO_STATUS } from '../../core/lists.ts';
import type { Dialect } from '../dialect.ts';

// `expand` in `definitions.ts` puts these expressions in, `ofInboxSql` aside, which readers of `changes` use.
// Words in capitals in them are expanded after that.

/** An expression: the name of a status in views and intervals, as `statusName` gives it. */
export function statusSql(status: string): string {
  const words = CLOSED_WORDS.map((word) => `'${word}'`).join(', ');
  return `(CASE WHEN ${status} IN (${words}) THEN '${CLOSED}' ELSE coalesce(${status}, '${NO_STATUS}') END)`;
}

/** An expression: what a status means, by the settings FINAL_STATUSES and WAITING_STATUSES. */
export function meaningSql(status: string): string {
  return `(CASE WHEN IS_FINAL(${status}) THEN 'final' WHEN IS_WAITING(${status}) THEN 'waiting'
    WHEN LOWERED(${status}) = 'open' THEN 'open' ELSE 'other' END)`;
}

/** A condition: a row of `settings`, or the default if it is missing, lists the status. */
export function isListedSql(
  dialect: Dialect,
  status: string,
  name: string,
  usual: readonly string[],
): string {
  const stored = `(SELECT settings.value FROM settings WHERE settings.name = '${name}')`;
  const list = `coalesce(${stored}, '${JSON.stringify(usual)}')`;
  return `(LOWERED(${status}) IN (SELECT value FROM ${dialect.texts(list, 'listed')}))`;
}

/** An expression: the office hours from the first stored ones to an instant, in ms. */
export function officeSql(instant: string): string {
  return `coalesce((SELECT CASE
      WHEN ${instant} >= office.ends_at THEN CAST(office.after_seconds AS BIGINT) * 1000
      ELSE CAST(office.before_seconds AS BIGINT) * 1000 + MILLISECONDS_BETWEEN(office.starts_at, ${instant})
      END
    FROM office_hours AS office WHERE office.starts_at <= ${instant}
    ORDER BY office.starts_at DESC LIMIT 1), 0)`;
}

/** An expression: what a row of `inbox_users` is called; null for a user whom the mirror has not seen. */
export function nameSql(users: string): string {
  const name = `coalesce(${users}.first_name, '') || ' ' || coalesce(${users}.last_name, '')`;
  return `coalesce(nullif(trim(${name}), ''), ${users}.email)`;
}

/**
 * An expression: the values that the row `items` of a list had before all its changes, as the JSON of
 * `item_values`. A row that was never written again has them still. Otherwise a column's first value is the
 * old one of its first change.
 */
export function firstValuesSql({ jsonObject, jsonTexts, instantText }: Dialect, list: ListName): string {
  const inbox = list === 'inboxes' ? 'inbox_id IS NULL' : 'inbox_id = items.inbox_id';
  const ofItem = `list = '${list}' AND ${inbox} AND item_id = items.id`;
  const texts = {
    text: (column: string) => column,
    boolean: (column: string) => `CASE WHEN ${column} THEN 'true' WHEN NOT ${column} THEN 'false' END`,
    instant: instantText,
  };
  const columns = Object.entries(COLUMNS[list]).map(([name, kind]): [string, string] => [
    name,
    `CASE WHEN items.changed_at = items.first_seen_at OR NOT EXISTS
        (SELECT 1 FROM changes WHERE ${ofItem} AND field = '${name}')
      THEN ${texts[kind](`items.${name}`)}
      ELSE (SELECT old_value FROM changes WHERE ${ofItem} AND field = '${name}' ORDER BY id LIMIT 1) END`,
  ]);
  // A tag was there first if it is there without a change, or if its first change removes it.
  const tags = `
    SELECT tag_id AS value FROM conversation_tags AS links
    WHERE links.inbox_id = items.inbox_id AND links.conversation_id = items.id AND NOT EXISTS
      (SELECT 1 FROM changes WHERE ${ofItem} AND field = 'tags' AND links.tag_id IN (old_value, new_value))
    UNION ALL
    SELECT old_value FROM changes AS lost
    WHERE ${ofItem} AND field = 'tags' AND new_value IS NULL AND NOT EXISTS
      (SELECT 1 FROM changes WHERE ${ofItem} AND field = 'tags' AND id < lost.id
         AND lost.old_value IN (old_value, new_value))`;
  return jsonObject([...columns, ...(list === 'conversations' ? [['tags', jsonTexts(tags)] as const] : [])]);
}

/** True if two intervals of one conversation have an instant in common. @param one an alias, as `other` */
export function overlapsSql(one: string, other: string): string {
  return `${other}.inbox_id = ${one}.inbox_id AND ${other}.conversation_id = ${one}.conversation_id
    AND (${one}.to_at IS NULL OR ${one}.to_at > ${other}.from_at)
    AND (${other}.to_at IS NULL OR ${other}.to_at > ${one}.from_at)`;
}

/**
 * A condition: true for the changes in an inbox and for those of the inbox itself, whose `inbox_id` is null.
 * @param inbox its id, or a parameter such as `$2`
 * @param list the only list that is read; undefined: all
 */
export function ofInboxSql(inbox: string, list: ListName | undefined): string {
  const inside = `changes.inbox_id = ${inbox}`;
  // Another list has no change of the inbox itself, and SQLite would read all changes of that list.
  if (list !== undefined && list !== 'inboxes') return inside;
  return `(${inside}
    OR changes.list = 'inboxes' AND changes.inbox_id IS NULL AND changes.item_id = ${inbox})`;
}
