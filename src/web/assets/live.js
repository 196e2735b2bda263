// The one script of the pages, which work without it: new changes appear by themselves, newest first.

/** At most this many rows stay on a page. */
const MOST_ROWS = 300;

const rows = document.querySelector('tbody[data-live]');
const state = document.querySelector('[data-live-state]');
if (rows !== null && state !== null) {
  const source = new EventSource(rows.dataset.live);
  state.hidden = false;
  source.addEventListener('open', () => (state.textContent = 'New changes appear here by themselves.'));
  source.addEventListener('error', () => {
    state.textContent =
      source.readyState === EventSource.CLOSED
        ? 'New changes do not come by themselves now. Reload the page to see them.'
        : 'The daemon does not answer; trying again.';
  });
  source.addEventListener('changes', ({ data }) => {
    // The daemon has escaped every text in these rows.
    rows.insertAdjacentHTML('afterbegin', data);
    while (rows.rows.length > MOST_ROWS) rows.rows[rows.rows.length - 1].remove();
  });
}
