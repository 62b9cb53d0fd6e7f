/** API keys: whose a request is. Only digests are kept, and compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Rates } from './key-rates.ts';
import { adminOnly, unauthorized } from '../errors.ts';

/** A key and its client. Keys of one name are one client, so that a key can be changed for another. */
export interface ApiKey {
  /** Name of the client in logs. */
  readonly client: string;
  /** SHA-256 of the key. */
  readonly digest: Buffer;
  /** Rates of its client per minute, if they differ from those of all. */
  readonly rates?: Partial<Rates>;
  /** The service class of its client's requests, and the best that these may ask for. */
  readonly serviceClass?: string;
}

/** Client that comes with the admin key. No name in a key file begins with `#`: there it is a comment. */
export const ADMIN_CLIENT = '#admin';

/** Bytes of a key's digest that name its client. */
const NAME_BYTES = 6;

/**
 * Keys without a name are clients by their digests, such as `#2c70e12b7a06`: what a client stored stays
 * its own when other keys come and go, which a place among them would not.
 */
export function unnamedKeys(keys: readonly string[]): ApiKey[] {
  return [...new Set(keys)].map((key) => {
    const digest = digestOf(key);
    return { client: `#${digest.toString('hex', 0, NAME_BYTES)}`, digest };
  });
}

/** Equal lengths, as the constant-time comparison needs. */
export function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

export class ApiKeys {
  /** Whether requests need no key. */
  readonly isOpen: boolean;
  #users: readonly ApiKey[];
  #numClients: number;
  readonly #admin: ApiKey | null;

  /**
   * @param users with none, the API is open to all
   * @param adminDigest of the key that opens everything, and alone what is the operator's; null
   *   leaves that open
   */
  constructor(users: readonly ApiKey[] = [], adminDigest: Buffer | null = null) {
    this.isOpen = users.length === 0;
    this.#users = users;
    this.#numClients = countClients(users);
    this.#admin = adminDigest && { client: ADMIN_CLIENT, digest: adminDigest };
  }

  /** Whether a key for the operator's routes exists. */
  get hasAdmin(): boolean {
    return this.#admin !== null;
  }

  /** Whether there is no key at all: then clients and the operator can't be distinguished. */
  get isUnguarded(): boolean {
    return this.isOpen && !this.hasAdmin;
  }

  /** Number of clients that share the server: those with a user's key. */
  get numClients(): number {
    return this.#numClients;
  }

  /** Whether somebody can come as this client: what is stored may be of one whose key is gone. */
  isKnown(client: string): boolean {
    if (client === '') return this.isOpen;
    return this.#known().some((key) => key.client === client);
  }

  /** Rates of a client that replace those of all. */
  ratesOf(client: string): Partial<Rates> | undefined {
    return this.#users.find((key) => key.client === client && key.rates !== undefined)?.rates;
  }

  /** The service class of a client, if its key says so. */
  classOf(client: string): string | undefined {
    const isOwn = (key: ApiKey) => key.client === client && key.serviceClass !== undefined;
    return this.#users.find(isOwn)?.serviceClass;
  }

  /** Replaces the keys. If none are left, a closed API stays closed to all. */
  replace(users: readonly ApiKey[]): void {
    this.#users = users;
    this.#numClients = countClients(users);
  }

  /**
   * The key that came as `Authorization: Bearer KEY` or `X-Api-Key: KEY`; null where none is needed.
   * @throws ApiError 401
   */
  identify(headers: IncomingHttpHeaders): ApiKey | null {
    return this.isOpen ? null : find(this.#known(), headers);
  }

  /**
   * Checks a request to the operator's routes.
   * @throws ApiError 401 without a key, 403 with a user's, unless no admin key exists
   */
  requireAdmin(headers: IncomingHttpHeaders): void {
    const admin = this.#admin;
    if (admin === null) return;
    if (find([...this.#users, admin], headers) !== admin) throw adminOnly();
  }

  /** Whether the admin key came with a request. */
  isAdmin(headers: IncomingHttpHeaders): boolean {
    const text = presentedKey(headers);
    return (
      this.#admin !== null &&
      text !== undefined &&
      timingSafeEqual(this.#admin.digest, digestOf(text))
    );
  }

  /** Whether `key`, which `identify` gave once, would still pass as the same client's. */
  isValid(key: ApiKey | null): boolean {
    if (key === null) return this.isOpen;
    return this.#known().some(
      ({ client, digest }) => client === key.client && timingSafeEqual(digest, key.digest),
    );
  }

  #known(): readonly ApiKey[] {
    return this.#admin === null ? this.#users : [...this.#users, this.#admin];
  }
}

function countClients(keys: readonly ApiKey[]): number {
  return new Set(keys.map(({ client }) => client)).size;
}

function find(keys: readonly ApiKey[], headers: IncomingHttpHeaders): ApiKey {
  const text = presentedKey(headers);
  if (text === undefined) {
    throw unauthorized('No API key given; send `Authorization: Bearer KEY` or `X-Api-Key: KEY`.');
  }
  const presented = digestOf(text);
  let found: ApiKey | null = null;
  // Every key is compared, so that the time taken does not reveal which one is close.
  for (const key of keys) {
    if (timingSafeEqual(key.digest, presented)) found = key;
  }
  if (found === null) throw unauthorized('The API key is not valid.');
  return found;
}

function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return bearer;
  const header = headers['x-api-key'];
  return typeof header === 'string' && header !== '' ? header : undefined;
}
