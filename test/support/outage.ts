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

/** Resets every request for conversations after so many of their pages, until the script is removed. */
export function conversationsDownAfter(pages: number, { sandbox }: { readonly sandbox: Sandbox }): void {
  let read = 0;
  sandbox.script(({ path }) => {
    if (!path.includes('/conversations?')) return undefined;
    read += 1;
    return read > pages ? 'reset' : undefined;
  });
}
