import { onTestFinished } from 'vitest';
import { onServer } from './provider.ts';

let roles = 0;

/** The address of a database for a new role. The statements call the role `me`. */
export async function asRole(url: string, ...grants: string[]): Promise<string> {
  const role = `role_${process.pid}_${(roles += 1)}`;
  for (const statement of [`CREATE ROLE me LOGIN PASSWORD 'weak'`, ...grants])
    await onServer(statement.replaceAll(/\bme\b/g, role), url);
  onTestFinished(() => onServer(`DROP OWNED BY ${role}; DROP ROLE ${role}`, url));
  const address = new URL(url);
  address.username = role;
  address.password = 'weak';
  return address.href;
}
