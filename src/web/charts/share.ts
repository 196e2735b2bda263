import { html, type Html } from '../frame/html.ts';
import { round } from './frame.ts';

/** A bar in a table's cell: parts of `most`, beside the number that it shows. */
export function shareBar(
  parts: readonly { readonly value: number; readonly colour: 'open' | 'pending' | 'plain' }[],
  most: number,
): Html {
  let from = 0;
  const rects = parts.map(({ value, colour }) => {
    const width = most === 0 ? 0 : (100 * value) / most;
    const rect = html`<rect
      class="series-${colour}"
      x="${round(from)}%"
      width="${round(width)}%"
      height="100%"
    />`;
    from += width;
    return rect;
  });
  return html`<svg class="share" aria-hidden="true">${rects}</svg>`;
}
