/** Requests to a bucket: signed, sent to its server and nowhere else. */
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, askOnce, readTextAnswer } from '../../net/get.ts';
import { ModelError } from '../model-error.ts';
import { type BucketReference, encoded, idOf } from './bucket-reference.ts';
import { type CredentialChain, isRegion } from './credential-chain.ts';
import type { Credentials } from './credentials.ts';
import { signed } from './sign.ts';
import { parseXml, textOf } from './xml.ts';

/** How buckets are reached. */
export interface BucketAccess {
  /** Endpoint of `s3://`; null is Amazon's, unless the AWS profile names another. */
  readonly endpoint: string | null;
  /** Endpoint of `gs://`. */
  readonly googleEndpoint: string;
  readonly isOffline: boolean;
  readonly chain: CredentialChain;
}

export interface BucketAsk {
  readonly method?: 'GET' | 'HEAD';
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Names that are part of a host's. A dot would be outside of Amazon's certificate. */
const IN_HOST = /^[a-z0-9-]{3,63}$/;

const ERROR_BYTES = 64 * 1024;

/** Tries of a short request whose server is busy or cannot be reached. */
const TRIES = 3;

export class BucketClient {
  readonly #reference: BucketReference;
  readonly #access: BucketAccess;
  readonly #retryMs: number;
  #region: string | null = null;

  /** @param retryMs between tries; twice as long after each that fails */
  constructor(reference: BucketReference, access: BucketAccess, retryMs = 500) {
    this.#reference = reference;
    this.#access = access;
    this.#retryMs = retryMs;
  }

  /** Name of the server that is asked, for messages. */
  get server(): string {
    const { endpoint, googleEndpoint } = this.#access;
    if (this.#reference.scheme === 'gs') return googleEndpoint;
    return endpoint ?? 'Amazon S3';
  }

  /**
   * Sends one request. A bucket of Amazon's in another region is asked there; no redirect is followed, as
   * what is signed is for one server, and what is not may come from anybody.
   * @param key empty for the bucket
   * @throws {ConnectionError}; {ModelError} without credentials that should be there
   */
  async ask(key: string, ask: BucketAsk = {}): Promise<Answer> {
    const endpoint = await this.#endpoint();
    const region = await this.#regionOf(endpoint);
    const answer = await this.#send(key, ask, endpoint, region);
    const there = answer.body.headers['x-amz-bucket-region'];
    const isMoved = answer.status >= 300 && answer.status < 500 && endpoint === null;
    if (!isMoved || typeof there !== 'string' || there === region || !isRegion(there))
      return answer;
    answer.body.destroy();
    this.#region = there;
    return this.#send(key, ask, endpoint, there);
  }

  /** As `ask`, a few times where the server is busy or the connection breaks before its answer. */
  async askAgain(key: string, ask: BucketAsk = {}): Promise<Answer> {
    for (let tried = 1; ; tried++) {
      const answer = await this.ask(key, ask).catch((error: unknown) => {
        if (error instanceof ModelError || tried === TRIES) throw error;
        return null;
      });
      const isBusy = answer !== null && (answer.status === 429 || answer.status >= 500);
      if (answer !== null && (!isBusy || tried === TRIES)) return answer;
      answer?.body.destroy();
      await sleep(this.#retryMs * 2 ** tried);
    }
  }

  /** @param what was asked for, as people call it */
  async errorOf(answer: Answer, what: string): Promise<ModelError> {
    const { status } = answer;
    const code = await codeOf(answer);
    const said = `${status}${code === null ? '' : ` ${code}`}`;
    const { server } = this;
    if (code === 'NoSuchBucket')
      return new ModelError(`${server} has no bucket ${this.#reference.bucket}`);
    if (status === 404) return new ModelError(`${server} has no ${what}`);
    if (status === 412) return changed(what);
    if (status === 401 || status === 403) {
      const credentials = await this.#credentials();
      const why =
        credentials === null
          ? 'it is not public, and there are no credentials (AWS_ACCESS_KEY_ID, an AWS profile, a role)'
          : `the credentials of ${credentials.from} may not read it, or are wrong`;
      return new ModelError(`${server} refuses ${what} (${said}): ${why}`);
    }
    if (status >= 300 && status < 400) {
      return new ModelError(
        `${server} redirects ${what} (${said}), which is not followed: ` +
          'set AWS_REGION or --endpoint-url to where the bucket is',
      );
    }
    return new ModelError(`${server} answered ${said} for ${what}`);
  }

  async #send(
    key: string,
    { method = 'GET', query = {}, headers = {} }: BucketAsk,
    endpoint: string | null,
    region: string,
  ): Promise<Answer> {
    const url = this.#addressOf(key, query, endpoint, region);
    const plain = { 'accept-encoding': 'identity', ...headers };
    const credentials = await this.#credentials();
    const all =
      credentials === null
        ? plain
        : await signed({ method, url, headers: plain }, credentials, region);
    return askOnce(url, { method, headers: all });
  }

  #addressOf(
    key: string,
    query: Readonly<Record<string, string>>,
    endpoint: string | null,
    region: string,
  ): URL {
    const { bucket } = this.#reference;
    const path = key.split('/').map(encoded).join('/');
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    const isInHost = endpoint === null && IN_HOST.test(bucket);
    const host = isInHost ? `${bucket}.s3.${region}.${domain}` : `s3.${region}.${domain}`;
    const base = endpoint ?? `https://${host}`;
    const search = Object.entries(query).map(([name, value]) => `${name}=${encoded(value)}`);
    const start = isInHost ? base : `${base}/${bucket}`;
    return new URL(`${start}/${path}${search.length === 0 ? '' : `?${search.join('&')}`}`);
  }

  /** Null is Amazon's. */
  async #endpoint(): Promise<string | null> {
    const { endpoint, googleEndpoint, chain } = this.#access;
    if (this.#reference.scheme === 'gs') return googleEndpoint;
    if (endpoint !== null) return endpoint;
    const profile = await chain.profile();
    return profile?.endpoint == null ? null : checkedEndpoint(profile.endpoint, profile.from);
  }

  async #regionOf(endpoint: string | null): Promise<string> {
    if (this.#reference.scheme === 'gs') return 'auto';
    // Servers other than Amazon's mostly take any; R2 has this one, and `auto`.
    this.#region ??= (await this.#access.chain.region()) ?? 'us-east-1';
    return endpoint === null && this.#region === 'auto' ? 'us-east-1' : this.#region;
  }

  #credentials(): Promise<Credentials | null> {
    const { chain } = this.#access;
    return this.#reference.scheme === 'gs' ? chain.writtenCredentials() : chain.credentials();
  }

  /** Address of the model, for messages. */
  get id(): string {
    return idOf(this.#reference);
  }
}

/** Without its quotes; null without one. */
export function etagOf({ etag }: IncomingHttpHeaders): string | null {
  return etag === undefined ? null : bareEtag(etag);
}

export function bareEtag(etag: string): string {
  return etag
    .trim()
    .replace(/^W\//, '')
    .replace(/^"(.*)"$/, '$1');
}

export function changed(what: string): ModelError {
  return new ModelError(
    `${what} changed while it was downloaded: run the same again to get the new one`,
  );
}

/**
 * An address of a server, without a slash at its end.
 * @param from who says so
 * @throws {ModelError} without the address, which may hold a password
 */
export function checkedEndpoint(address: string, from: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  const isBare = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (isWeb && isBare) return url.href.replace(/\/+$/, '');
  throw new ModelError(
    `${from} is no address of a server: expected such as https://minio.example:9000`,
  );
}

/** Name of an error of S3; null where it has none. Its text may repeat what was signed. */
async function codeOf(answer: Answer): Promise<string | null> {
  try {
    const code = textOf(parseXml(await readTextAnswer(answer, ERROR_BYTES)), 'Code') ?? '';
    return /^[A-Za-z]{1,64}$/.test(code) ? code : null;
  } catch {
    return null;
  } finally {
    answer.body.destroy();
  }
}
