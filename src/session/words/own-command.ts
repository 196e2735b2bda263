import { extname } from 'node:path';

/**
 * How a person runs this program again: by `npx` in a clone and where npx has run it, else by its name.
 * @param file of the program; the sources of a clone end in `.ts`
 */
export function ownCommand(
  { env }: { readonly env: Readonly<Record<string, string | undefined>> },
  file = import.meta.filename,
): string {
  const isClone = extname(file) === '.ts';
  return isClone || env['npm_command'] === 'exec' ? 'npx inbox-mirror' : 'inbox-mirror';
}

/**
 * The text with every command in backticks as a person types it here. A command that names a process (`by …`,
 * or before `, process 41` or ` (process 41`) stays as it was started.
 */
export function asTyped(text: string, own = ownCommand(process)): string {
  return text.replaceAll(/(?<!\bby )`inbox-mirror (?![^`]*`(?:, | \()process \d)/g, `\`${own} `);
}
