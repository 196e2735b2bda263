import type { SandboxOptions } from './options.ts';
import type { Wire } from './wire.ts';
import type { World } from './world.ts';

/** What an operation works with. */
export interface Desk {
  readonly world: World;
  readonly wire: Wire;
  readonly options: SandboxOptions;
}
