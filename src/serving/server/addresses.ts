/** The addresses by which this machine is reached. */
import { networkInterfaces } from 'node:os';

/** Those of its own that other machines may reach; IPv4. */
export function outerAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address);
}

/** Whether a server that listens there listens on all addresses. */
export function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '[::]' || host === '::';
}

/**
 * Addresses to type for a server, the nearest first.
 * @param host that it listens on @param outer this machine's; for tests
 */
export function hostsToReach(host: string, outer = outerAddresses): string[] {
  return isAnyAddress(host) ? ['127.0.0.1', ...outer()] : [host];
}
