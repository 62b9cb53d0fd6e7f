import { createHash } from 'node:crypto';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { readTextAnswer } from '../../net/get.ts';
import type { RemoteFile, RemoteListing } from '../download/remote.ts';
import { ModelError } from '../model-error.ts';
import { bareEtag, type BucketClient } from './bucket-client.ts';
import { parseXml, textOf, type XmlElement, XmlError } from './xml.ts';

/** Objects that no model is made of: where one changes, the model is the same. */
const ASIDE =
  /\.(?:md|png|jpe?g|gif|pdf|gitattributes|gitignore)$|(?:^|\/)(?:LICENSE|NOTICE)[^/]*$/i;

interface Page {
  readonly objects: readonly RemoteFile[];
  /** Token of the page after it; null for the last. */
  readonly next: string | null;
}

/**
 * Lists what is below a prefix. Names are relative to it; what stands for a folder is left out.
 * @param prefix without a slash at its end
 * @throws {ModelError} when that is not allowed, makes no sense, or has more than a model;
 *   ConnectionError
 */
export async function listBucket(client: BucketClient, prefix: string): Promise<RemoteListing> {
  const start = prefix === '' ? '' : `${prefix}/`;
  const files: RemoteFile[] = [];
  let token: string | null = null;
  for (let page = 0; ; page++) {
    const { objects, next } = await listPage(client, start, token);
    files.push(...objects);
    if (files.length > MODEL_LIMITS.bucketKeys || page === MODEL_LIMITS.bucketPages) {
      throw new ModelError(
        `${client.id} has more than ${MODEL_LIMITS.bucketKeys} objects: name the prefix of one model`,
      );
    }
    if (next === null) break;
    if (next === token) throw nonsense(client);
    token = next;
  }
  const names = new Set(files.map(({ name }) => name));
  if (names.size < files.length) throw nonsense(client);
  if (names.size === 0) throw new ModelError(`${client.server} has nothing below ${client.id}/`);
  return { commit: commitOf(files), files };
}

async function listPage(client: BucketClient, start: string, token: string | null): Promise<Page> {
  const query = {
    ...(token !== null && { 'continuation-token': token }),
    'list-type': '2',
    'max-keys': '1000',
    prefix: start,
  };
  const answer = await client.askAgain('', { query });
  if (answer.status !== 200) throw await client.errorOf(answer, `the list of ${client.id}`);
  const text = await readTextAnswer(answer, MODEL_LIMITS.bucketPageBytes).catch(() => '');
  try {
    return pageOf(parseXml(text), start);
  } catch (error) {
    if (error instanceof XmlError) throw nonsense(client);
    throw error;
  }
}

/** @throws {XmlError} for what is no list of objects */
function pageOf(list: XmlElement, start: string): Page {
  if (list.name !== 'ListBucketResult') throw new XmlError('it is no list');
  const objects = list.children.flatMap((child) => {
    const file = child.name === 'Contents' ? fileOf(child, start) : null;
    return file === null ? [] : [file];
  });
  if (textOf(list, 'IsTruncated') !== 'true') return { objects, next: null };
  const next = textOf(list, 'NextContinuationToken');
  if (next === null || next === '' || next.length > 4096) throw new XmlError('a page is missing');
  return { objects, next };
}

/** Null for what stands for a folder. */
function fileOf(object: XmlElement, start: string): RemoteFile | null {
  const key = textOf(object, 'Key') ?? '';
  const size = textOf(object, 'Size') ?? '';
  const tag = bareEtag(textOf(object, 'ETag') ?? '');
  if (!key.startsWith(start)) throw new XmlError('a key that was not asked for');
  const name = key.slice(start.length);
  const bytes = /^\d{1,15}$/.test(size) ? Number(size) : -1;
  if (bytes < 0 || !/^[\x21\x23-\x7e]{1,256}$/.test(tag)) throw new XmlError('no size or ETag');
  // Consoles make such objects for folders; one with a content can't be a file here.
  if (name === '' || (name.endsWith('/') && bytes === 0)) return null;
  return { name, size: bytes, tag };
}

function commitOf(files: readonly RemoteFile[]): string {
  const facts = files
    .filter(({ name }) => !ASIDE.test(name))
    .map(({ name, size, tag }) => JSON.stringify([name, size, tag]));
  // Sorted, as other servers may have another order.
  return createHash('sha256').update(facts.toSorted().join('\n')).digest('hex').slice(0, 40);
}

function nonsense({ server }: BucketClient): ModelError {
  return new ModelError(
    `${server} did not answer like an object store (--endpoint-url sets the address)`,
  );
}
