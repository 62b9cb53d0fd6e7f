import { createHash } from 'node:crypto';
import { MODEL_LIMITS } from '../../model-limits.ts';
import type { Answer } from '../../net/get.ts';
import type { Remote, RemoteFile } from '../download/remote.ts';
import { ModelError } from '../model-error.ts';
import { type BucketAccess, BucketClient, changed, etagOf } from './bucket-client.ts';
import { listBucket } from './bucket-listing.ts';
import { type BucketReference, clientNameOf, idOf, nameInCache } from './bucket-reference.ts';
import { equalParts, isObject } from './object-hash.ts';

/** Folders of the cache for models of buckets. */
export const BUCKET_FOLDERS = ['s3', 'gs'] as const;

/** Separator of a name from the server that it is of; no name has it, as they are encoded. */
const AT = '@';

/**
 * A prefix of a bucket. Tags of its files are their ETags: each request is for the object that was listed,
 * and not for another one that has its name since.
 * @param retryMs between tries of short requests
 */
export function bucketRemote(
  reference: BucketReference,
  access: BucketAccess,
  retryMs?: number,
): Remote {
  const client = new BucketClient(reference, access, retryMs);
  const { scheme, prefix, file } = reference;
  const keyOf = ({ name }: RemoteFile) => (prefix === '' ? name : `${prefix}/${name}`);
  const server = createHash('sha256').update(client.server).digest('hex').slice(0, 8);
  return {
    id: idOf(reference),
    name: clientNameOf(reference),
    file,
    home: [scheme, `${nameInCache(reference)}${AT}${server}`],
    revision: 'main',
    endpoint: client.server,
    addressFrom: scheme === 's3' ? '--endpoint-url' : 'STORAGE_EMULATOR_HOST',
    isOffline: access.isOffline,
    nameOf: (folder) => `${idOf(reference)}/${folder}`,
    list: () => listBucket(client, prefix),
    errorOf: (answer, what) => client.errorOf(answer, what),
    async ask(wanted, _commit, from) {
      const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
      const answer = await client.ask(keyOf(wanted), { headers: { ...ifSame(wanted), ...range } });
      if (answer.status === 200 || answer.status === 206) requireSame(answer, wanted, from);
      return answer;
    },
    isWhole: (wanted, path) => isWhole(client, keyOf(wanted), wanted, path, scheme),
  };
}

/** Id of the model in a folder of the cache; null for another folder. */
export function bucketModelIn(scheme: string, folder: string): string | null {
  const [name, server] = folder.split(AT);
  if (name === undefined || server === undefined) return null;
  try {
    return `${scheme}://${decodeURIComponent(name)}`;
  } catch {
    return null;
  }
}

function ifSame({ tag }: RemoteFile): Record<string, string> {
  return { 'if-match': `"${tag}"` };
}

/** @throws {ModelError} for another object, or another part of it: not all servers heed `If-Match` */
function requireSame(answer: Answer, file: RemoteFile, from: number): void {
  const { headers } = answer.body;
  const isSame = etagOf(headers) === file.tag;
  const range = headers['content-range'] ?? '';
  if (isSame && (answer.status === 200 || range === `bytes ${from}-${file.size - 1}/${file.size}`))
    return;
  answer.body.destroy();
  if (!isSame) throw changed(file.name);
  throw new ModelError(`${file.name} came with another range than was asked for`);
}

async function isWhole(
  client: BucketClient,
  key: string,
  file: RemoteFile,
  path: string,
  scheme: BucketReference['scheme'],
): Promise<boolean> {
  const head = async (query: Record<string, string> = {}): Promise<Answer> => {
    const mode: Record<string, string> =
      scheme === 's3' ? { 'x-amz-checksum-mode': 'ENABLED' } : {};
    const headers = { ...ifSame(file), ...mode };
    const answer = await client.askAgain(key, { method: 'HEAD', query, headers });
    answer.body.resume();
    return answer;
  };
  try {
    const answer = await head();
    if (answer.status !== 200) throw await client.errorOf(answer, file.name);
    const { headers } = answer.body;
    if (etagOf(headers) !== file.tag) throw changed(file.name);
    return await isObject(path, file.size, headers, (count) => partSizes(head, file.size, count));
  } catch (error) {
    if (error instanceof ModelError) throw error;
    throw new ModelError(`${client.server} did not say what ${file.name} is`, { cause: error });
  }
}

type Head = (query: Record<string, string>) => Promise<Answer>;

/** In bytes; null where the server does not tell. */
async function partSize(head: Head, partNumber: number): Promise<number | null> {
  const { status, body } = await head({ partNumber: String(partNumber) });
  const size = Number(body.headers['content-length'] ?? Number.NaN);
  return status === 206 && Number.isSafeInteger(size) ? size : null;
}

/** Uploads whose parts are not equal are rare: each is asked for then. */
async function* partSizes(head: Head, size: number, count: number): AsyncGenerator<number[]> {
  const first = await partSize(head, 1);
  if (first === null || count > MODEL_LIMITS.objectParts) return;
  const equal = equalParts(size, first, count);
  if (equal !== null) yield equal;
  const sizes = [first];
  while (sizes.length < count) {
    const next = await partSize(head, sizes.length + 1);
    if (next === null) return;
    sizes.push(next);
  }
  yield sizes;
}
