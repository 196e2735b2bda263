import { html, type Html } from '../frame/html.ts';

/** The form for the token. @param fault why the last try failed */
export function loginForm(to: string, fault: string | null): Html {
  return html`<section class="card narrow">
    <form method="post" action="/login" class="login">
      ${fault !== null && html`<p class="fault" role="alert">${fault}</p>`}
      <input type="hidden" name="to" value="${to}" />
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
      <button>Log in</button>
    </form>
    <p class="note">
      The token is the one of <code>HTTP_TOKEN</code> or <code>HTTP_TOKEN_FILE</code>. Whoever runs the daemon
      knows it.
    </p>
  </section>`;
}
