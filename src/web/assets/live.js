// The one script of the pages, which work without it. New changes appear by themselves, newest first.

/** At most this many rows stay on a page. */
const MOST_ROWS = 300;

/** After this many ms the page replaces a connection that the browser has given up. */
const RETRY_MS = 5000;

const rows = document.querySelector('tbody[data-live]');
const state = document.querySelector('[data-live-state]');
if (rows !== null && state !== null) {
  const address = new URL(rows.dataset.live, location.href);
  let source = null;
  let retry = 0;
  // A screen reader reads a text that is set again, even if it is the same.
  const say = (text) => {
    if (state.textContent !== text) state.textContent = text;
  };
  const listen = () => {
    source = new EventSource(address);
    source.addEventListener('open', () => say('New changes appear here by themselves.'));
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return say('The daemon does not answer; trying again.');
      // The browser tries again after a broken connection, but not after an answer such as a proxy's 502.
      say('New changes do not come by themselves now; trying again. If this lasts, reload the page.');
      retry = setTimeout(attend, RETRY_MS);
    });
    source.addEventListener('restored', () => location.reload());
    source.addEventListener('changes', ({ data, lastEventId }) => {
      address.searchParams.set('after', lastEventId);
      // The daemon has escaped every text in these rows.
      rows.insertAdjacentHTML('afterbegin', data);
      while (rows.rows.length > MOST_ROWS) rows.rows[rows.rows.length - 1].remove();
    });
  };
  // A browser opens at most six connections to a host: six live tabs would leave none for other pages. A
  // hidden page gives its connection up, and resumes after its last change when it is seen again.
  const attend = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
    if (!document.hidden) listen();
  };
  state.hidden = false;
  document.addEventListener('visibilitychange', attend);
  attend();
}

/** What a person can have the focus on. */
const REACHABLE = 'a[href], button, input, select, textarea, summary, [tabindex]';

/** A page that waits for something reads itself again, and keeps the place of the focus. */
async function readAgain() {
  const main = document.querySelector('main');
  const focused = [...main.querySelectorAll(REACHABLE)].indexOf(document.activeElement);
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  // While the daemon restarts, a proxy answers in its place.
  if (!answer.ok) return;
  if (answer.redirected) return location.reload();
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const next = page.querySelector('main');
  if (next === null) return;
  main.replaceWith(next);
  document.title = page.title;
  next.querySelectorAll(REACHABLE)[focused]?.focus();
}

/** Reads the page again after the seconds that it names. */
function waitForMore() {
  const seconds = Number(document.querySelector('main').dataset.refresh ?? 0);
  // A daemon that restarts answers again soon.
  if (seconds > 0)
    setTimeout(
      () =>
        readAgain()
          .catch(() => undefined)
          .finally(waitForMore),
      1000 * seconds,
    );
}

waitForMore();
