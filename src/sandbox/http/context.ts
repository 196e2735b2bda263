import type { SandboxOptions } from '../options.ts';
import type { World } from '../world/world.ts';
import type { Wire } from './wire.ts';

/** What an operation works with. */
export interface Desk {
  readonly world: World;
  readonly wire: Wire;
  readonly options: SandboxOptions;
}
