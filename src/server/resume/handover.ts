/** Gives the answers of a server that is shutting down to others. */
import { lookup } from 'node:dns/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { ConnectionError } from '../../net/get.ts';
import { post } from '../../net/post.ts';
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { unauthorized } from '../errors.ts';
import type { ResumableAnswer } from './resumable-answer.ts';
import type { ResumeKey } from './resume-key.ts';

/** Of replicas: opened by what they send. */
export const HANDOVER_PATH = '/internal/v1/resume';
/** Its value says who sends the request: a replica, by the key that all have. */
export const HANDOVER_HEADER = 'x-chairlift-handover';
/** What it is sealed for. */
const USE = 'handover';

const sealedSender = z.object({
  path: z.string(),
  client: z.string(),
  /** Unix time in milliseconds. */
  expires: z.number(),
});

/**
 * What a replica says of a request that it hands over.
 * @throws ApiError 401
 */
export function handedOver(
  resumption: Pick<HandoverOptions, 'key'> | null,
  headers: IncomingHttpHeaders,
): Pick<MovingRequest, 'path' | 'client'> {
  const { [HANDOVER_HEADER]: sealed } = headers;
  const opened = typeof sealed === 'string' ? resumption?.key.open(USE, sealed) : null;
  const result = sealedSender.safeParse(opened ? JSON.parse(opened) : null);
  if (!result.success || result.data.expires < Date.now()) {
    throw unauthorized('This is for replicas that have the same --resume-key.');
  }
  return result.data;
}

/** A request that is handed over. */
export interface MovingRequest {
  /** Of its API. */
  readonly path: string;
  readonly client: string;
  readonly json: object;
  readonly answer: ResumableAnswer;
}

export interface HandoverOptions {
  readonly key: ResumeKey;
  /** Other replicas. Of a name with several addresses, each is one. */
  readonly peers: readonly URL[];
  readonly logger: Logger;
}

export class Handover {
  readonly #options: HandoverOptions;
  readonly #listeners = new Set<() => void>();
  #hasBegun = false;
  readonly #counts = { moved: 0, kept: 0 };

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  /** Answers that another server took up, and those that none would. */
  get counts(): { readonly moved: number; readonly kept: number } {
    return this.#counts;
  }

  /** From now on answers are handed over. */
  begin(): void {
    this.#hasBegun = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** @returns what `promise` gives, or null where the hand-over begins first */
  orBegun<T>(promise: Promise<T>): Promise<T | null> {
    if (this.#hasBegun) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const listener = (): void => resolve(null);
      this.#listeners.add(listener);
      promise.then(
        (value) => {
          this.#listeners.delete(listener);
          resolve(value);
        },
        (error: unknown) => {
          this.#listeners.delete(listener);
          reject(error);
        },
      );
    });
  }

  /**
   * Has another replica go on with an answer.
   * @param areTold whether its reader has what events' ids have told, or nothing
   * @returns the rest as it comes from there; null when no replica takes it
   */
  async send(request: MovingRequest, areTold: boolean): Promise<IncomingMessage | null> {
    const { key, logger } = this.#options;
    const { path, client, json, answer } = request;
    const body = toJson({ ...json, resume: answer.resumeBody(areTold) });
    for (const url of await this.#addresses()) {
      const expires = Date.now() + LIMITS.handoverMs;
      const sealed = key.seal(USE, JSON.stringify({ path, client, expires }));
      try {
        const rest = await post(url, body, { [HANDOVER_HEADER]: sealed }, LIMITS.handoverMs);
        if (rest.statusCode === 200) {
          this.#counts.moved++;
          return rest;
        }
        rest.destroy();
        logger.warn({ peer: url.host, status: rest.statusCode }, 'a replica refused an answer');
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        logger.warn({ peer: url.host }, `a replica can't be reached: ${error.message}`);
      }
    }
    this.#counts.kept++;
    return null;
  }

  /** In an order that spreads many answers over all. */
  async #addresses(): Promise<URL[]> {
    const found = await Promise.all(this.#options.peers.map((peer) => addressesOf(peer)));
    const all = found.flat();
    const start = (this.#counts.moved + this.#counts.kept) % Math.max(1, all.length);
    return [...all.slice(start), ...all.slice(0, start)];
  }
}

/** Seeds may have more digits than a number can hold. */
function toJson({ seed, ...others }: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(others);
  return typeof seed === 'bigint'
    ? `${text.slice(0, -1)},"seed":${seed}}`
    : JSON.stringify({ ...others, seed });
}

/** All that a name stands for; one that can't be resolved is left to fail when it is tried. */
async function addressesOf(peer: URL): Promise<URL[]> {
  const target = new URL(HANDOVER_PATH, peer);
  const { hostname } = target;
  // Certificates are for names.
  if (target.protocol === 'https:' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return [target];
  try {
    const addresses = await lookup(hostname, { all: true });
    return addresses.map(({ address, family }) => {
      const url = new URL(target);
      url.hostname = family === 6 ? `[${address}]` : address;
      return url;
    });
  } catch {
    return [target];
  }
}
