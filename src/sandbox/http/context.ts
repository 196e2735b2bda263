import type { SandboxOptions } from '../options.ts';
import type { World } from '../world/world.ts';
import type { Wire } from './wire.ts';

/** The dependencies of every operation. */
export interface Context {
  readonly world: World;
  readonly wire: Wire;
  readonly options: SandboxOptions;
}
