import type { Sandbox } from '../../src/sandbox/sandbox.ts';

/** Resets every request from the first one whose path `begins` accepts, until the script is removed. */
export function downFrom(
  { sandbox }: { readonly sandbox: Sandbox },
  begins: (path: string) => boolean,
): void {
  let isDown = false;
  sandbox.script(({ path }) => {
    isDown ||= begins(path);
    return isDown ? 'reset' : undefined;
  });
}
