import { type Budget, lowered } from '../../core/budget.ts';
import { foreignUse } from '../../core/gate-state.ts';
import { thousands } from '../../core/humanize.ts';
import type { Ledger } from '../../core/ledger.ts';

/** The use of the key as this process knows it, and what it leaves of the configured budget. */
export interface KeyUse {
  /** The budget for now: its values change while the process runs. */
  readonly budget: Budget;
  /** Reads the ledger. @throws MirrorError `DATABASE` */
  refresh(): Promise<void>;
}

interface KeyUseDeps {
  readonly configured: Budget;
  readonly mirror: { readonly ledger: Pick<Ledger, 'gateState'> };
  readonly clock: { now(): number };
}

export function openKeyUse({ configured, mirror, clock }: KeyUseDeps): KeyUse {
  let day: { readonly sent: number; readonly until: number } | null = null;
  const dayLimit = (): number | null => (day === null || day.until <= clock.now() ? null : day.sent);
  const values = () => lowered(configured, { dayLimit: dayLimit() });
  return {
    budget: {
      ...configured,
      get perDay() {
        return values().perDay;
      },
      get reserved() {
        return values().reserved;
      },
      get lowered() {
        const sent = dayLimit();
        if (sent === null) return null;
        return `the account's day was full when this mirror had sent ${thousands(sent)} requests`;
      },
    },
    async refresh() {
      const use = foreignUse(await mirror.ledger.gateState(), clock.now());
      day = use?.kind === 'day' ? { sent: use.sent, until: use.until.getTime() } : null;
    },
  };
}
