/** SQL: a user's full name, or the e-mail address; null for a user whom the mirror has not seen. */
export const USER_NAME = nameOfUser('users');

/** SQL: the same for another alias of `inbox_users`. */
export function nameOfUser(alias: string): string {
  return `coalesce(
    nullif(trim(coalesce(${alias}.first_name, '') || ' ' || coalesce(${alias}.last_name, '')), ''),
    ${alias}.email)`;
}

/** SQL: the assignee of each row of `conversations` as `users`; its columns are null where there is none. */
export const JOIN_ASSIGNEE = `LEFT JOIN inbox_users AS users
  ON users.inbox_id = conversations.inbox_id AND users.id = conversations.assignee_id`;
