import type { Clock } from '../core/clock.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { OtherSetting, ViewSettings } from '../mirror/settings/views.ts';
import { liveDaemon } from './lease/live-daemon.ts';
import type { Log } from './log.ts';

/**
 * Writes the settings that the views read. While a daemon runs, its own stay: a command on another host may
 * have other ones. Logs those that differ.
 */
export async function keepViewSettings(
  {
    mirror,
    clock,
    log,
  }: {
    mirror: Pick<Mirror, 'keepViewSettings' | 'leaseHolder' | 'otherViewSettings'>;
    clock: Clock;
    log: Log;
  },
  settings: ViewSettings,
): Promise<void> {
  const daemon = await liveDaemon({ mirror, clock });
  const others = await mirror.otherViewSettings(settings);
  if (daemon === null) await mirror.keepViewSettings(settings, clock.now());
  if (others.length === 0) return;
  const place = daemon === null ? 'before' : 'there';
  const differing = others.map((setting) => inWords(setting, place)).join(', ');
  log.warn(
    daemon === null
      ? `the views have new settings: ${differing}. Hosts that share a mirror need the same ones`
      : `the views keep the settings of the daemon on ${daemon.host}; this command has others: ${differing}`,
  );
}

/** The variable, and its values unless they are stored in another form than a person writes. */
function inWords({ name, stored, given }: OtherSetting, place: string): string {
  const variable = name.toUpperCase();
  const isWritten = ![stored, given].some((value) => /^(\[|\{|null$)/.test(value));
  return isWritten ? `${variable}=${given} (${place}: ${stored})` : variable;
}
