import { isIP } from 'node:net';

/**
 * The client that an address stands for: an IPv4 address, or the first 64 bits of an IPv6 address, because
 * one client usually has all the others.
 * @param address of a socket; undefined after the client has left
 */
export function clientOf(address: string | undefined): string {
  const plain = (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (isIP(plain) !== 6) return plain;
  const [before = '', after] = plain.split('::');
  const left = before.split(':').filter((group) => group !== '');
  const right = (after ?? '').split(':').filter((group) => group !== '');
  const zeros = after === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/**
 * The client whose guesses an address counts with: {@link clientOf}, but one for all addresses of loopback,
 * each of which any user of this machine can take.
 */
export function guesserOf(address: string): string {
  return /^(?:(?:::ffff:)?127\.|::1$)/i.test(address) ? 'this machine' : clientOf(address);
}
