const RANDOM_BYTES = 8;
let counter = 0;

/**
 * In the order in which they are made. Works also where `crypto.randomUUID` is missing: on pages
 * without TLS that are not from this machine.
 */
export function newId(): string {
  const time = Date.now().toString(36).padStart(9, '0');
  const order = (counter++ % 36 ** 3).toString(36).padStart(3, '0');
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  const random = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${time}${order}${random}`;
}
