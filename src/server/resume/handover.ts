/** Gives the requests of a server that is shutting down to others. */
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { ConnectionError } from '../../net/get.ts';
import { post } from '../../net/post.ts';
import { LIMITS } from '../../limits.ts';
import type { Directory, OwnAddress } from './peers/directory.ts';
import { HANDOVER_PATH, REPLICA_HEADER, ReplicaQuestion, sealSender } from './replica-seal.ts';
import type { ResumeBody } from './resume-body.ts';
import type { ResumeKey } from './resume-key.ts';

/** How long what is known of other replicas is good for: many answers are handed over at once. */
const KNOWN_MS = 1000;

/** A request that is handed over. */
export interface MovingRequest {
  /** Path of its API. */
  readonly path: string;
  readonly client: string;
  readonly json: object;
  /** Where its answer stands; null for one that has not begun. */
  readonly resume: ResumeBody | null;
}

export interface HandoverOptions {
  readonly key: ResumeKey;
  readonly directory: Directory;
  readonly logger: Logger;
}

/** Outcomes of handing over, counted. */
export interface HandoverCounts {
  /** Answers that another server took up. */
  readonly moved: number;
  /** Answers that none would take up. */
  readonly kept: number;
  /** Requests that came too late, and were answered by another server. */
  readonly forwarded: number;
  /** Those that were refused. */
  readonly refused: number;
}

export class Handover {
  readonly #options: HandoverOptions;
  readonly #listeners = new Set<() => void>();
  readonly #counts = { moved: 0, kept: 0, forwarded: 0, refused: 0 };
  /** Ends of answers that have moved. */
  readonly #passing = new Set<Promise<void>>();
  #hasBegun = false;
  #numSent = 0;
  #replicas: Promise<readonly URL[]> = Promise.resolve([]);
  #askedAt = -Infinity;

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  get counts(): HandoverCounts {
    return this.#counts;
  }

  /** Lets other replicas find this one. */
  enter(own: OwnAddress): void {
    this.#options.directory.enter?.(own);
  }

  /** From now on answers are handed over. */
  begin(): void {
    this.#hasBegun = true;
    void this.#options.directory.leave?.();
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** @returns what `promise` gives, or null where the hand-over begins first */
  orBegun<T>(promise: Promise<T>): Promise<T | null> {
    if (this.#hasBegun) {
      // It may fail before anybody waits for it.
      promise.catch(() => {});
      return Promise.resolve(null);
    }
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

  /** Has another replica go on with an answer. @returns the rest of it; null when none takes it */
  async move(request: MovingRequest): Promise<IncomingMessage | null> {
    const rest = await this.#send(request, (status) => status === 200);
    this.#counts[rest ? 'moved' : 'kept']++;
    if (rest) this.#watch(rest);
    return rest;
  }

  /** Resolves when what was handed over has been passed on to its end. */
  async onPassedOn(): Promise<void> {
    while (this.#passing.size > 0) await Promise.all(this.#passing);
  }

  #watch(rest: IncomingMessage): void {
    const ended = new Promise<void>((resolve) => {
      rest.once('close', resolve);
    });
    this.#passing.add(ended);
    void ended.then(() => this.#passing.delete(ended));
  }

  /** Has another replica answer a request. @returns its answer; null when none takes it */
  async forward(request: MovingRequest): Promise<IncomingMessage | null> {
    // Any replica would give the same answer to a client's error.
    const answer = await this.#send(request, (status) => status === 200 || status === 400);
    this.#counts[answer ? 'forwarded' : 'refused']++;
    return answer;
  }

  async #send(
    { path, client, json, resume }: MovingRequest,
    isTaken: (status: number) => boolean,
  ): Promise<IncomingMessage | null> {
    const { key, logger } = this.#options;
    const body = toJson({ ...json, ...(resume && { resume }) });
    for (const url of this.#inTurn(await this.#known())) {
      const headers = { [REPLICA_HEADER]: sealSender(key, { path, client }) };
      try {
        const answer = await post(url, body, headers, LIMITS.handoverMs);
        const { statusCode: status = 0 } = answer;
        if (isTaken(status)) return answer;
        answer.destroy();
        logger.warn({ peer: url.host, status }, 'a replica refused an answer');
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        logger.warn({ peer: url.host }, `a replica can't be reached: ${error.message}`);
      }
    }
    return null;
  }

  /** In an order that spreads many answers over all. */
  #inTurn(replicas: readonly URL[]): readonly URL[] {
    const start = this.#numSent++ % Math.max(1, replicas.length);
    return [...replicas.slice(start), ...replicas.slice(0, start)];
  }

  /** The replicas that are there and take requests. */
  #known(): Promise<readonly URL[]> {
    const now = performance.now();
    if (now - this.#askedAt > KNOWN_MS) {
      this.#askedAt = now;
      this.#replicas = this.#find();
    }
    return this.#replicas;
  }

  async #find(): Promise<readonly URL[]> {
    const { directory, logger } = this.#options;
    const found = await directory.find().catch((error: unknown) => {
      logger.warn({ err: error }, "other replicas can't be found");
      return [];
    });
    const urls = found
      .slice(0, LIMITS.handoverPeers)
      .map((address) => new URL(HANDOVER_PATH, address));
    const areReplicas = await Promise.all(urls.map((url) => this.#isReplica(url)));
    return urls.filter((_, index) => areReplicas[index]);
  }

  /**
   * Whether a server has the key. Asked before it gets any request: names and addresses may have come
   * to belong to somebody else.
   */
  async #isReplica(url: URL): Promise<boolean> {
    const { key, logger } = this.#options;
    const question = new ReplicaQuestion(key);
    const headers = { [REPLICA_HEADER]: question.sealed };
    try {
      const answer = await post(url, '{}', headers, LIMITS.handoverAskMs);
      answer.destroy();
      if (question.isAnsweredBy(answer.headers)) return true;
      const { statusCode: status } = answer;
      logger.warn(
        { peer: url.host, status },
        'no replica that has the same key and takes requests',
      );
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      logger.warn({ peer: url.host }, `a replica can't be reached: ${error.message}`);
    }
    return false;
  }
}

/** Seeds may have more digits than a number can hold. */
function toJson({ seed, ...others }: Readonly<Record<string, unknown>>): string {
  if (typeof seed !== 'bigint') return JSON.stringify({ ...others, seed });
  return `{"seed":${seed},${JSON.stringify(others).slice(1)}`;
}
