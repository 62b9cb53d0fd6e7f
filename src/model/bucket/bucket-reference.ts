import { ggufModelName, isGguf } from '../gguf/gguf-names.ts';
import { told } from '../../told.ts';
import { ModelError } from '../model-error.ts';

/** Models below a prefix of a bucket. */
export interface BucketReference {
  /** Amazon's protocol, or Google's servers of it. */
  readonly scheme: 's3' | 'gs';
  readonly bucket: string;
  /** Beginning of all keys, without a slash at its end; empty for the bucket as a whole. */
  readonly prefix: string;
  /** A GGUF file below it; null if the address names none. */
  readonly file: string | null;
}

const REFERENCE = /^(?<scheme>s3|gs):\/\/(?<bucket>[^/]+)(?:\/(?<key>.*))?$/s;

/** Names of buckets; capitals and underscores are of old ones, and of Google's. */
const BUCKET = /^[a-z0-9](?:[\w.-]{1,220}[a-z0-9])$/i;

/** Bytes of an address, percent-encoded: it becomes a folder's name. */
const MAX_BYTES = 200;

export function isBucketReference(model: string): boolean {
  return model.startsWith('s3://') || model.startsWith('gs://');
}

/** @throws {ModelError} if it is not `s3://bucket/prefix` or `gs://bucket/prefix` */
export function parseBucketReference(model: string): BucketReference {
  const { scheme, bucket = '', key = '' } = REFERENCE.exec(model)?.groups ?? {};
  const path = key.replace(/\/$/, '');
  const parts = path === '' ? [] : path.split('/');
  const isOdd = parts.some(
    (part) => ['', '.', '..'].includes(part) || /[\p{Cc}\p{Cs}\\]/u.test(part),
  );
  const isBucket = BUCKET.test(bucket) && !bucket.includes('..');
  if ((scheme !== 's3' && scheme !== 'gs') || !isBucket || isOdd) {
    throw new ModelError(
      `${JSON.stringify(told(model, 300))} is no model in a bucket: expected s3://bucket/prefix or gs://bucket/prefix`,
    );
  }
  const last = parts.at(-1) ?? '';
  const file = isGguf(last) ? last : null;
  const prefix = (file === null ? parts : parts.slice(0, -1)).join('/');
  if (nameInCache({ scheme, bucket, prefix, file }).length > MAX_BYTES) {
    throw new ModelError(
      `${told(model, 300)} is too long: its name takes more than ${MAX_BYTES} bytes`,
    );
  }
  return { scheme, bucket, prefix, file };
}

/** Address without a file. */
export function idOf({ scheme, bucket, prefix }: BucketReference): string {
  return `${scheme}://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
}

/** Name by which clients call the model: the last part of its address, as of a folder. */
export function clientNameOf({ bucket, prefix, file }: BucketReference): string {
  if (file !== null) return ggufModelName(file);
  return prefix.split('/').at(-1) || bucket;
}

/** Bucket and prefix as a part of a path on any system. */
export function nameInCache({ bucket, prefix }: BucketReference): string {
  return encoded(prefix === '' ? bucket : `${bucket}/${prefix}`);
}

/** As `encodeURIComponent`, and what it leaves that AWS encodes: no file system minds the rest. */
export function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
