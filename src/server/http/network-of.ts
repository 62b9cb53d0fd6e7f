/** Those who connect by a unix socket have no addresses: they count as one client. */
const NO_ADDRESS = 'unix';

/**
 * Address by which clients are counted: an IPv4 address (also one inside IPv6), or the /64 network of
 * an IPv6 address, since a single machine commonly has a whole /64.
 * @param address undefined where a socket has none
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return NO_ADDRESS;
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const numOmitted = 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
    for (let group = 0; group < numOmitted; group++) groups.push('0');
    groups.push(...tail.split(':'));
  }
  return groups.slice(0, 4).join(':');
}
