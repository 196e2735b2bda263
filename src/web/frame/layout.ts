import { thousands } from '../../core/humanize.ts';
import type { Asset } from './assets.ts';
import { html, type Html } from './html.ts';

/** The pages in the order of the navigation. */
const NAVIGATION = [
  ['/', 'Overview'],
  ['/people', 'People and tags'],
  ['/feed', 'Changes'],
  ['/ask', 'Ask'],
  ['/engine', 'Engine room'],
] as const;

export type PagePath = (typeof NAVIGATION)[number][0];

/** The parts of a page that its frame does not know. */
export interface PageContent {
  readonly title: string;
  /** The page of the navigation to which this one belongs. */
  readonly active: PagePath | null;
  readonly body: Html;
  /** As of when the page's figures are true. */
  readonly stamp?: Html | undefined;
  /** Where the page stands: links from the overview to here. */
  readonly trail?: readonly { readonly href: string; readonly name: Html | string }[];
  /** Seconds after which the browser loads the page again. The script keeps the focus. */
  readonly refresh?: number | undefined;
}

export interface Frame {
  readonly assets: Readonly<Record<'style' | 'script' | 'icon', Asset>>;
  readonly version: string;
  /** A person has logged in and can log out. */
  readonly canLogOut: boolean;
  /** Why the database does not let the daemon work: no figure will be newer. */
  readonly fault?: string | null;
}

const LOG_OUT = html`<form method="post" action="/logout"><button class="quiet">Log out</button></form>`;

/** For a template with this tag as it is, the build would import a package that no user installs. */
const END_OF_SCRIPT = '/script';

/** A whole page. */
export function pageOf(
  { title, active, body, stamp, trail = [], refresh }: PageContent,
  { assets, version, canLogOut, fault = null }: Frame,
): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        ${
          refresh !== undefined &&
          html`<noscript><meta http-equiv="refresh" content="${refresh}" /></noscript>`
        }
        <title>${title} · inbox-mirror</title>
        <link rel="icon" href="${assets.icon.href}" type="image/svg+xml" />
        <link rel="stylesheet" href="${assets.style.href}" />
        <script type="module" src="${assets.script.href}"><${END_OF_SCRIPT}>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="/"
            ><img src="${assets.icon.href}" alt="" width="24" height="24" />inbox-mirror</a
          >
          <nav aria-label="Pages">
            <ul>
              ${NAVIGATION.map(
                ([href, name]) =>
                  html`<li>
                    <a href="${href}" ${href === active && html`aria-current="page"`}>${name}</a>
                  </li>`,
              )}
            </ul>
          </nav>
          ${canLogOut && LOG_OUT}
        </header>
        <main id="main" ${refresh !== undefined && html`data-refresh="${refresh}"`}>
          ${
            trail.length > 0 &&
            html`<nav class="trail" aria-label="Place">
              <ol>
                ${trail.map(({ href, name }) => html`<li><a href="${href}">${name}</a></li>`)}
              </ol>
            </nav>`
          }
          <div class="heading">
            <h1>${title}</h1>
            ${stamp}
          </div>
          ${fault !== null && html`<p class="fault" role="alert">${fault}</p>`}
          ${body}
        </main>
        <footer>
          <p>inbox-mirror ${version} · a copy of the service. These pages never change the service.</p>
        </footer>
      </body>
    </html> `;
}

/** A part of a page with a heading. */
export function section(
  heading: string,
  body: Html,
  { note, wide = false }: { note?: Html | string | undefined; wide?: boolean } = {},
): Html {
  return html`<section class="card${wide && ' wide'}">
    <h2>${heading}</h2>
    ${note !== undefined && html`<p class="note">${note}</p>`}${body}
  </section>`;
}

export interface Column {
  readonly name: string;
  /** Right-aligned, for numbers. */
  readonly number?: boolean;
}

/** A table that scrolls by itself on a narrow screen. @param empty the sentence in place of no rows */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly (Html | string | number | null)[])[],
  empty: string,
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const sides = columns.map(({ number }) => number === true && html`class="n"`);
  const heads = columns.map(({ name }, index) => html`<th scope="col" ${sides[index]}>${name}</th>`);
  const lines = rows.map(
    (cells) =>
      html`<tr>
        ${cells.map((cell, index) => html`<td ${sides[index]}>${cell}</td>`)}
      </tr>`,
  );
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption class="hidden">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${lines}
      </tbody>
    </table>
  </div>`;
}

/**
 * The note of a table that shows only its first rows: how many there are, and a link to all of them.
 * Undefined if none is left out.
 * @param sql the question whose answer has all rows
 */
export function cutNote(shown: number, all: number, sql: string): Html | undefined {
  if (all <= shown) return undefined;
  const others = thousands(all - shown);
  const words = `The first ${thousands(shown)} of ${thousands(all)}. The other ${others} are in`;
  return html`${words} <a href="/ask?${String(new URLSearchParams({ sql }))}">the whole list</a>.`;
}

/** Names with their values. */
export function factsList(facts: readonly (readonly [name: string, value: Html])[]): Html {
  return html`<dl class="facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** A field with choices. @param all the name of the first choice, which has no value; null: there is none */
export function select(
  name: string,
  label: string,
  all: string | null,
  choices: readonly { readonly id: string; readonly name: string | null }[],
  chosen?: string,
): Html {
  const named = Map.groupBy(choices, ({ name: text }) => text);
  const options = choices.map(({ id, name: text }) => {
    // Two people may have one name.
    const isUnique = text && named.get(text)?.length === 1;
    const shown = isUnique ? text : `${text ?? ''} (${id})`.trim();
    return html`<option value="${id}" ${id === chosen && 'selected'}>${shown}</option>`;
  });
  return html`<div>
    <label for="${name}">${label}</label>
    <select id="${name}" name="${name}">
      ${all !== null && html`<option value="">${all}</option>`}${options}
    </select>
  </div>`;
}

/** A page that says what is wrong and what to do. */
export function faultPage(title: string, sentence: string, frame: Frame): Html {
  const body = html`<section class="card wide">
    <p>${sentence}</p>
    <p><a href="/">To the overview</a></p>
  </section>`;
  return pageOf({ title, active: null, body }, frame);
}
