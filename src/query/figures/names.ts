/** SQL: a user's full name, or the e-mail address; null for a user whom the mirror has not seen. */
export const USER_NAME = nameOfUser('users');

/** SQL: the same for another alias of `inbox_users`. */
export function nameOfUser(alias: string): string {
  return `coalesce(
    nullif(trim(coalesce(${alias}.first_name, '') || ' ' || coalesce(${alias}.last_name, '')), ''),
    ${alias}.email)`;
}
