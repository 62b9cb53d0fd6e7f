/** Hashes by which an object store tells an object's content, and whether a file has them. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import * as zlib from 'node:zlib';
import { fileHash } from '../cache/content-hash.ts';
import { etagOf } from './bucket-client.ts';

/** Sizes that the parts may have that an object was uploaded in, in bytes: the likely ones first. */
export type PartSizes = (count: number) => AsyncIterable<readonly number[]>;

const CHUNK = { highWaterMark: 4 * 1024 * 1024 };

/**
 * Whether a file is an object, by the strongest that is stated of it: SHA-256, MD5, MD5 of the MD5s of its
 * parts, CRC-32. True where there is nothing, as of objects with a key of one's own (KMS).
 * @param headers of a HEAD of the object
 * @param size of the file, in bytes
 * @throws {ModelError} if it cannot be read; as `partSizes`
 */
export async function isObject(
  path: string,
  size: number,
  headers: IncomingHttpHeaders,
  partSizes: PartSizes,
): Promise<boolean> {
  const isWhole = headers['x-amz-checksum-type'] !== 'COMPOSITE';
  const sha256 = bytesOf(headers['x-amz-checksum-sha256'], 32);
  if (isWhole && sha256 !== null) return (await fileHash(path)) === sha256;
  const md5 = md5Of(headers);
  if (md5 !== null) return (await md5s(path, [size]))[0]?.toString('hex') === md5;
  const parts = partsOf(headers);
  if (parts !== null) {
    let isKnown = false;
    for await (const sizes of partSizes(parts.count)) {
      isKnown = sum(sizes) === size;
      const digests = isKnown ? Buffer.concat(await md5s(path, sizes)) : Buffer.of();
      if (createHash('md5').update(digests).digest('hex') === parts.md5) return true;
    }
    if (isKnown) return false;
  }
  const crc32 = bytesOf(headers['x-amz-checksum-crc32'], 4);
  if (isWhole && crc32 !== null) return (await crc32Of(path)) === crc32;
  return true;
}

/** Sizes of equal parts, the last one shorter. Null if so many don't come of it. */
export function equalParts(size: number, first: number, count: number): number[] | null {
  if (first <= 0 || Math.ceil(size / first) !== count) return null;
  return Array.from({ length: count }, (_, index) => Math.min(first, size - index * first));
}

/** An ETag is no MD5 where the store encrypts with a key of KMS or of the client's. */
function isPlain(headers: IncomingHttpHeaders): boolean {
  const encryption = headers['x-amz-server-side-encryption'] ?? 'AES256';
  return (
    encryption === 'AES256' &&
    headers['x-amz-server-side-encryption-customer-algorithm'] === undefined
  );
}

function md5Of(headers: IncomingHttpHeaders): string | null {
  const google = /(?:^|,)\s*md5=([\w+/=]+)/.exec(String(headers['x-goog-hash'] ?? ''))?.[1];
  const stated = bytesOf(google, 16);
  if (stated !== null) return stated;
  const etag = etagOf(headers) ?? '';
  return isPlain(headers) && /^[0-9a-f]{32}$/.test(etag) ? etag : null;
}

function partsOf(headers: IncomingHttpHeaders): { md5: string; count: number } | null {
  const [, md5, count] = /^([0-9a-f]{32})-([1-9]\d{0,4})$/.exec(etagOf(headers) ?? '') ?? [];
  return md5 !== undefined && isPlain(headers) ? { md5, count: Number(count) } : null;
}

/** Hex of so many bytes in base64; null for anything else, as for a hash of hashes. */
function bytesOf(base64: string | string[] | undefined, length: number): string | null {
  if (typeof base64 !== 'string' || !/^[\w+/]+={0,2}$/.test(base64)) return null;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length === length ? bytes.toString('hex') : null;
}

/** MD5 of each part of a file. */
async function md5s(path: string, sizes: readonly number[]): Promise<Buffer[]> {
  const digests: Buffer[] = [];
  let hash = createHash('md5');
  let left = sizes[0] ?? 0;
  for await (const chunk of createReadStream(path, CHUNK) as AsyncIterable<Buffer>) {
    let rest = chunk;
    while (rest.length > left && digests.length < sizes.length - 1) {
      digests.push(hash.update(rest.subarray(0, left)).digest());
      rest = rest.subarray(left);
      hash = createHash('md5');
      left = sizes[digests.length] ?? 0;
    }
    hash.update(rest);
    left -= rest.length;
  }
  return [...digests, hash.digest()];
}

async function crc32Of(path: string): Promise<string> {
  let crc = 0;
  for await (const chunk of createReadStream(path, CHUNK) as AsyncIterable<Buffer>) {
    crc = zlib.crc32(chunk, crc);
  }
  return crc.toString(16).padStart(8, '0');
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}
