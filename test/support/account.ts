import { AccountCheck } from '../../src/sync/account/account.ts';

type Deps = ConstructorParameters<typeof AccountCheck>[0];

/** The check of a process whose key stays the same. */
export function accountCheck(
  deps: Omit<Deps, 'access'>,
  address = (): string => 'http://service.example/v1',
): AccountCheck {
  return new AccountCheck({ ...deps, access: () => ({ address: address(), fingerprint: 'of the key' }) });
}
