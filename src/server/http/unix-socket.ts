/** Listens on a unix socket: whoever may write to its file may connect, by the umask that it is made with. */
import { type BigIntStats, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { UserError } from '../../user-error.ts';
import { startListening } from './start-listening.ts';

/**
 * Node removes the file when the server closes.
 * @param path absolute
 * @throws UserError where another server listens there, or something else is there
 */
export async function openUnixSocket(server: Server, path: string): Promise<void> {
  await removeStale(path);
  await startListening(server, { path }, (error) => explain(error, path));
}

/** Removes the socket of a server that ended without doing so itself. @throws as `requireFree` */
async function removeStale(path: string): Promise<void> {
  const found = await requireFree(path);
  // Another server may have begun to listen meanwhile, over a file of its own.
  const now = statOf(path);
  if (now === undefined || found === undefined) return;
  if (now.ino === found.ino && now.ctimeNs === found.ctimeNs) unlinkSync(path);
}

/**
 * Whether a server may listen there.
 * @returns the socket that another one has left there, if any
 * @throws UserError where somebody listens there, or may, or where it is no socket
 */
export async function requireFree(path: string): Promise<BigIntStats | undefined> {
  const found = statOf(path);
  if (found === undefined) return undefined;
  if (!found.isSocket()) throw new UserError(`${path} is there and is no socket; it is left alone`);
  const code = await refusalOf(path);
  if (code !== 'ECONNREFUSED' && code !== 'ENOENT') {
    throw new UserError(
      code === null
        ? `another server listens on ${path}; stop it or choose another path with --host`
        : `can't tell whether a server listens on ${path}: ${code}`,
    );
  }
  return found;
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw new UserError(explain(error as NodeJS.ErrnoException, path), { cause: error });
  }
}

/** Why nobody could be reached; null where somebody was. */
function refusalOf(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(null);
    });
    socket.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
  });
}

function explain({ code, message }: NodeJS.ErrnoException, path: string): string {
  switch (code ?? '') {
    case 'EADDRINUSE':
      return `another server listens on ${path}; stop it or choose another path with --host`;
    // Node says the same where the folder is not there.
    case 'EACCES':
      return `can't make ${path}: its folder must be there, and this user able to write to it`;
    default:
      return `can't listen on ${path}: ${message}`;
  }
}
