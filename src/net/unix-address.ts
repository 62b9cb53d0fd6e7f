/** Addresses of unix sockets: `unix:/run/chairlift.sock`, where others have a host or a URL. */

const UNIX = 'unix:';

/** Bytes of the longest path that the system's addresses of sockets hold. */
export const LONGEST_PATH = process.platform === 'darwin' ? 103 : 107;

/** Path of the socket; null for any other address. */
export function socketPathOf(address: string | URL): string | null {
  const text = typeof address === 'string' ? address : decodeURIComponent(address.href);
  return text.startsWith(UNIX) ? text.slice(UNIX.length) : null;
}

/** Whether the path of a unix address is one that a socket can have; true for any other address. */
export function isSoundAddress(address: string): boolean {
  const path = socketPathOf(address);
  if (path === null) return true;
  return /^\/[^\0]*[^\0/]$/.test(path) && Buffer.byteLength(path) <= LONGEST_PATH;
}

/** Host of the ports that a server has beside its socket, or its own. */
export function hostOfPorts(host: string): string {
  return socketPathOf(host) === null ? host : '127.0.0.1';
}
