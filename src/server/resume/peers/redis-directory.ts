/** Replicas that announce themselves in Redis or Valkey. */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { LIMITS } from '../../../limits.ts';
import type { RedisLink } from '../../../net/redis-link.ts';
import type { ResumeKey } from '../resume-key.ts';
import type { Directory, OwnAddress } from './directory.ts';

/** A hash, by replica. Raised when the form of an entry changes. */
const ENTRIES = 'chairlift:replicas:1';
/**
 * Use of the seal of entries: somebody who can write to Redis, but has no key, can't name a replica.
 */
const USE = 'replica';
/** Number of times that a replica announces itself while one entry is valid. */
const TELLINGS = 3;
/** Timeout of a command: nobody waits for its answer but a server that shuts down. */
const TIMEOUT_MS = 500;

const entry = z.object({
  url: z.url({ protocol: /^https?$/ }),
  /** Unix time in milliseconds. */
  expires: z.number(),
});

/** Names and values in turns. */
const pairs = z.array(z.string());

export interface RedisDirectoryOptions {
  /** How long a replica is found after it last announced itself; LIMITS.replicaMs if left out. */
  readonly goodForMs?: number;
}

export class RedisDirectory implements Directory {
  readonly #link: Pick<RedisLink, 'run'>;
  readonly #key: ResumeKey;
  readonly #goodForMs: number;
  readonly #id = randomUUID();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    link: Pick<RedisLink, 'run'>,
    key: ResumeKey,
    { goodForMs = LIMITS.replicaMs }: RedisDirectoryOptions = {},
  ) {
    this.#link = link;
    this.#key = key;
    this.#goodForMs = goodForMs;
  }

  enter({ reached }: OwnAddress): void {
    const tell = (): void => {
      const expires = Date.now() + this.#goodForMs;
      const sealed = this.#key.seal(USE, JSON.stringify({ url: reached.href, expires }));
      // While Redis is gone others know this replica no more.
      this.#run((client) => client.hset(ENTRIES, this.#id, sealed)).catch(() => {});
    };
    tell();
    this.#timer = setInterval(tell, this.#goodForMs / TELLINGS).unref();
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    await this.#run((client) => client.hdel(ENTRIES, this.#id)).catch(() => {});
  }

  /** @throws RedisUnavailableError */
  async find(): Promise<readonly URL[]> {
    // At most this many at random, however many there are.
    const found = await this.#run((client) =>
      client.hrandfield(ENTRIES, LIMITS.handoverPeers, 'WITHVALUES'),
    );
    const urls: URL[] = [];
    const stale: string[] = [];
    const listed = pairs.parse(found ?? []);
    for (let at = 0; at < listed.length; at += 2) {
      const [id = '', sealed = ''] = listed.slice(at, at + 2);
      const url = this.#open(sealed);
      if (url === null) stale.push(id);
      else if (id !== this.#id) urls.push(url);
    }
    if (stale.length > 0) this.#run((client) => client.hdel(ENTRIES, ...stale)).catch(() => {});
    return urls;
  }

  /** Null for an entry that no replica made, or that is too old. */
  #open(sealed: string): URL | null {
    const text = this.#key.open(USE, sealed);
    const result = entry.safeParse(text === null ? null : JSON.parse(text));
    return result.success && result.data.expires >= Date.now() ? new URL(result.data.url) : null;
  }

  #run<T>(command: (client: Redis) => Promise<T>): Promise<T> {
    return this.#link.run(command, TIMEOUT_MS);
  }
}
