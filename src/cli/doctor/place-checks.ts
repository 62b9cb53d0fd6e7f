/** Where things go: the cache folder and the port. */
import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { socketPathOf } from '../../net/unix-address.ts';
import { explainListenError } from '../../server/http/listen.ts';
import { requireFree } from '../../server/http/unix-socket.ts';
import { formatBytes } from '../terminal/text-format.ts';
import { broken, type Check, ok, warning } from './check.ts';
import { reasonOf } from '../../files/system-error.ts';

/** The embedded model's build is small; one of a billion parameters takes 1 to 4 GB. */
const LEAST_SPACE = 200 * 2 ** 20;
const GOOD_SPACE = 5 * 2 ** 30;

const OTHER_FOLDER = 'set CHAIRLIFT_CACHE to a folder that this user may write to';

/** Leaves no trace: a folder that is not there yet is judged by the one that it would be made in. */
export async function cacheCheck(folder: string): Promise<Check> {
  const name = 'cache folder';
  try {
    const existing = await nearestExisting(folder);
    if (!(await stat(existing)).isDirectory()) {
      return broken(name, `${existing} is not a folder`, OTHER_FOLDER);
    }
    await access(existing, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(existing);
    return spaceCheck(name, folder, bavail * bsize);
  } catch (error) {
    const reason = reasonOf(error);
    return broken(name, `${folder}: ${reason}`, OTHER_FOLDER);
  }
}

/** @param bytes that are free */
export function spaceCheck(name: string, folder: string, bytes: number): Check {
  const found = `${folder}, ${formatBytes(bytes)} free`;
  if (bytes >= GOOD_SPACE) return ok(name, found);
  const advice = `make room, or set CHAIRLIFT_CACHE to a disk with ${formatBytes(GOOD_SPACE)} or more`;
  return bytes >= LEAST_SPACE ? warning(name, found, advice) : broken(name, found, advice);
}

async function nearestExisting(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (error) {
    const parent = dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === folder) throw error;
    return nearestExisting(parent);
  }
}

/** Whether a server could listen there. */
export async function placeCheck(host: string, port: number): Promise<Check> {
  const path = socketPathOf(host);
  return path === null ? portCheck(host, port) : socketCheck(path);
}

async function socketCheck(path: string): Promise<Check> {
  try {
    await requireFree(path);
    return ok('socket', `${path} is free`);
  } catch (error) {
    return broken('socket', reasonOf(error), 'choose another path with --host unix:/PATH');
  }
}

/** Opens the port and closes it again. */
export async function portCheck(host: string, port: number): Promise<Check> {
  const server = createServer();
  const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
  if (error === null) return ok('port', `${port} on ${host} is free`);
  const [found = '', advice = 'choose another with --port'] = explainListenError(
    error,
    host,
    port,
  ).split('; ');
  return broken('port', found, advice);
}
