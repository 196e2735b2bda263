import { connect } from 'node:tls';
import { SECOND } from '../core/clock.ts';
import { MirrorError, rejectsCertificate } from '../core/errors.ts';
import { BrokenBody, readErrorMessage } from './envelope.ts';
import { type Answer, NoAnswer } from './http.ts';

/** Milliseconds for a handshake with a port that may speak https. */
const HANDSHAKE_MS = 3 * SECOND;

/** The words of usual web servers about plain http on a port of https. */
const PLAIN_HTTP =
  /plain HTTP request was sent to HTTPS|HTTP request to an HTTPS server|speaking plain HTTP/i;

export interface AddressOptions {
  readonly url: string;
  /** The address has answered before, so that a failure is an outage, not a wrong configuration. */
  readonly isProven: boolean;
  /** Called once, at the first good answer of this process. */
  readonly onProven: () => void;
}

/** Tells a wrong address from an outage: only an address that has never answered can be wrong. */
export class Address {
  readonly #options: AddressOptions;
  readonly #url: URL;
  #isProven: boolean;
  #hasAnswered = false;

  constructor(options: AddressOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    this.#isProven = options.isProven;
  }

  /** Records a good answer. */
  answered(): void {
    if (this.#hasAnswered) return;
    this.#hasAnswered = true;
    this.#isProven = true;
    this.#options.onProven();
  }

  /** The error to throw for one of a request: `CONFIG` if the address may be wrong, else the same error. */
  async judge(error: unknown, path: string): Promise<unknown> {
    if (this.#isProven || !(error instanceof NoAnswer)) return error;
    const advice = await this.#adviceFor(error);
    return advice === null ? error : configError(path, `got no answer (${error.message}). ${advice}`);
  }

  /** Like {@link judge}, for the error of reading an answer. */
  judgeAnswer(error: unknown, path: string, { status, body }: Answer): unknown {
    if (this.#isProven || !(error instanceof BrokenBody) || !body.trim().startsWith('<')) return error;
    const title = readErrorMessage(body);
    const page = title === null ? 'a web page' : `the web page "${title}"`;
    return configError(
      path,
      `was answered (HTTP ${status}) with ${page} instead of JSON. ${this.#check()} It names a web site, ` +
        'or something on the way, such as a login page of the network, answered instead.',
    );
  }

  /**
   * The error for a 4xx that shows a wrong address; null for any other. Behind an address that has answered,
   * a server on the way is at fault.
   */
  refusal({ status, body }: Answer, path: string): MirrorError | null {
    if (this.#isProven || status !== 400 || !PLAIN_HTTP.test(body)) return null;
    return configError(path, `was refused (HTTP ${status}). ${this.#speaksHttps()}`);
  }

  async #adviceFor({ code, message }: NoAnswer): Promise<string | null> {
    const { protocol, hostname } = this.#url;
    if (code === 'ENOTFOUND')
      return `The name of the service, or of its proxy, does not resolve. ${this.#check()}`;
    if (rejectsCertificate(code)) return certificateFault(code, hostname, this.#check());
    if (code === 'EPROTO' && /wrong version number|packet length too long|http request/i.test(message))
      return `The port answers without TLS. ${this.#check()} It says https, and the port may speak http.`;
    if (code === 'ERR_PROXY_TUNNEL' && /: HTTP\S* 40[37]/.test(message))
      return 'The proxy refuses the connection. Check HTTPS_PROXY, with user and password, and NO_PROXY.';
    return protocol === 'http:' && (await this.#hasTls()) ? this.#speaksHttps() : null;
  }

  #speaksHttps(): string {
    return `The port speaks https. ${this.#check()} It says http.`;
  }

  #check(): string {
    return `Check INBOX_API_URL (${this.#options.url}) and the network.`;
  }

  /** True if the port completes a handshake. Nothing is sent over the connection, so it costs no request. */
  async #hasTls(): Promise<boolean> {
    const { hostname, port } = this.#url;
    return await new Promise((resolve) => {
      const host = hostname.replaceAll(/[[\]]/g, '');
      const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false });
      const end = (hasTls: boolean) => (): void => {
        socket.destroy();
        resolve(hasTls);
      };
      socket.setTimeout(HANDSHAKE_MS, end(false));
      socket.once('secureConnect', end(true)).once('error', end(false)).once('close', end(false));
    });
  }
}

/** @param check the sentence that names the address and the network */
function certificateFault(code: string | null, hostname: string, check: string): string {
  if (code === 'CERT_HAS_EXPIRED')
    return `The certificate of ${hostname} has expired, or the clock of this machine is wrong. ${check}`;
  if (code === 'CERT_NOT_YET_VALID')
    return `The certificate of ${hostname} is not valid yet, or the clock of this machine is wrong. ${check}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `The certificate is not for ${hostname}. ${check}`;
  return (
    `The certificate of ${hostname} cannot be trusted. ${check} ` +
    'If your organisation has its own authority, name the file of its certificate in INBOX_API_CA_FILE.'
  );
}

function configError(path: string, problem: string): MirrorError {
  return new MirrorError('CONFIG', `GET ${path} ${problem}`);
}
