import { withMarks } from '../../core/humanize.ts';

/** A piece of HTML. Only {@link html} makes one, so no other text can reach a page without being escaped. */
export class Html {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static of(strings: TemplateStringsArray, parts: readonly Part[]): Html {
    return new Html(
      narrow(strings).reduce((text, string, index) => text + rendered(parts[index - 1]) + string),
    );
  }

  toString(): string {
    return this.#text;
  }
}

/** A part of a template. `null`, `undefined` and `false` are left out. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

/**
 * A template. Every part that is not itself HTML is escaped, for text and for quoted attributes alike.
 * Attributes must be quoted. A mark replaces each control character: HTML forbids some, and curl prints a
 * page as it is.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return Html.of(strings, parts);
}

const narrowed = new WeakMap<TemplateStringsArray, readonly string[]>();

/** The constant parts of a template without the indentation of the source. */
function narrow(strings: TemplateStringsArray): readonly string[] {
  const known = narrowed.get(strings) ?? strings.map((text) => text.replaceAll(/\s*\n\s*/g, '\n'));
  narrowed.set(strings, known);
  return known;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function rendered(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.toString();
  if (typeof part === 'object') return part.map(rendered).join('');
  return withMarks(String(part)).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
