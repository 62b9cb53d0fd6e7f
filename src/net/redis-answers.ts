import { createHash } from 'node:crypto';
import type { RedisLink } from './redis-link.ts';

/** Raised when the form of an answer changes. */
const PREFIX = 'chairlift:answer:1:';
const DIGEST_BYTES = 16;

/** Answers in Redis, for all replicas. Each has a digest: one that was damaged is an error. */
export class RedisAnswers {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  /** @throws RedisUnavailableError; RangeError for a damaged answer */
  async get(key: string): Promise<Buffer | null> {
    const packed = await this.#link.run((client) => client.getBuffer(PREFIX + key));
    if (packed === null) return null;
    const bytes = packed.subarray(DIGEST_BYTES);
    if (packed.subarray(0, DIGEST_BYTES).equals(digestOf(bytes))) return bytes;
    throw new RangeError('an answer in Redis is damaged');
  }

  /** @throws RedisUnavailableError */
  async set(key: string, bytes: Uint8Array, ttlMs: number): Promise<void> {
    const packed = Buffer.concat([digestOf(bytes), bytes]);
    await this.#link.run((client) => client.set(PREFIX + key, packed, 'PX', ttlMs));
  }
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, DIGEST_BYTES);
}
