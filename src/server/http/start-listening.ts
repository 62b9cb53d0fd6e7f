import type { ListenOptions, Server } from 'node:net';
import { UserError } from '../../user-error.ts';

/**
 * Connections that may wait to be accepted; the system's own limit (`net.core.somaxconn`) if that is less.
 * Beyond it a client's first packet is dropped, and sent again after a second. Node's default is 511.
 */
const BACKLOG = 4096;

/**
 * Listens on a port or a unix socket.
 * @param explain says in one line why that failed
 * @throws UserError
 */
export function startListening(
  server: Server,
  where: Pick<ListenOptions, 'host' | 'port' | 'path'>,
  explain: (error: NodeJS.ErrnoException) => string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new UserError(explain(error), { cause: error }));
    });
    server.listen({ ...where, backlog: BACKLOG }, () => {
      // Such as a connection that could not be accepted for want of a descriptor: the next one may be.
      server.on('error', () => {});
      resolve();
    });
  });
}
