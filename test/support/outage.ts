import type { Sandbox } from '../../src/sandbox/sandbox.ts';

/** From the first request whose path `begins` accepts, each one is reset, until the script is removed. */
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
