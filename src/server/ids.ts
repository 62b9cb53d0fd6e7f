import { randomUUID } from 'node:crypto';

/** @param prefix tells kinds of ids apart, such as `msg_` */
export function createId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '');
}
