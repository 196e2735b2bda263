import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { html } from '../../src/web/frame/html.ts';

test('every text in a template is escaped, in text and in attributes', () => {
  const text = `<img src=x onerror="alert('1')"> & </title>`;
  expect(String(html`<p title="${text}">${text}</p>`)).toBe(
    '<p title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; &lt;/title&gt;">' +
      '&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; &lt;/title&gt;</p>',
  );
});

test('no text adds an element or an attribute', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const page = String(html`<p title="${text}">${[text, html`<b>${text}</b>`]}</p>`);
      expect(page.match(/</g)).toHaveLength(4);
      expect(page.match(/"/g)).toHaveLength(2);
    }),
  );
});

test('a template keeps HTML of other templates, and leaves out what is absent', () => {
  const item = (name: string) => html`<li>${name}</li>`;
  const list = html`<ul>
    ${['a', '<'].map(item)}${null}${undefined}${false}${0}
  </ul>`;
  expect(String(list).replaceAll('\n', '')).toBe('<ul><li>a</li><li>&lt;</li>0</ul>');
});
