/** Replicas by a name: all addresses that it has, as a headless service of Kubernetes gives them. */
import { lookup, resolveSrv } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { LIMITS } from '../../../limits.ts';
import { bareHost } from '../../../net/bare-host.ts';
import type { Directory, OwnAddress } from './directory.ts';

/** DNS client; a test has its own. */
export interface Resolver {
  lookup(name: string): Promise<readonly { readonly address: string; readonly family: number }[]>;
  resolveSrv(
    name: string,
  ): Promise<
    readonly { readonly name: string; readonly port: number; readonly priority: number }[]
  >;
}

/** Names of services begin so; they have ports. */
const SERVICE = '_';

const SYSTEM: Resolver = {
  // With the search domains and the hosts file of the machine, which queries leave out.
  lookup: (name) => lookup(name, { all: true }),
  resolveSrv,
};

export class DnsDirectory implements Directory {
  readonly #name: URL;
  readonly #resolver: Resolver;
  #own: OwnAddress | null = null;

  /**
   * @param name a URL whose host is the name; with a name of a service such as
   *   `_http._tcp.chairlift.default.svc.cluster.local` its port is not looked at
   */
  constructor(name: URL, resolver = SYSTEM) {
    this.#name = name;
    this.#resolver = resolver;
  }

  enter(own: OwnAddress): void {
    this.#own = own;
  }

  /** @throws Error when DNS does not answer in time, or has no such name */
  async find(): Promise<readonly URL[]> {
    const late = setTimeout(LIMITS.handoverAskMs, undefined, { ref: false }).then(() => {
      throw new Error(`DNS does not answer for ${this.#name.hostname}`);
    });
    const found = await Promise.race([this.#find(), late]);
    return found.filter((url) => !this.#isOwn(url));
  }

  async #find(): Promise<URL[]> {
    const { hostname } = this.#name;
    if (!hostname.startsWith(SERVICE)) return this.#addressesOf(this.#name);
    const records = await this.#resolver.resolveSrv(hostname);
    const targets = records
      .toSorted((a, b) => a.priority - b.priority)
      .slice(0, LIMITS.handoverPeers)
      .map(({ name, port }) => at(this.#name, name, port));
    return (await Promise.all(targets.map((target) => this.#addressesOf(target)))).flat();
  }

  async #addressesOf(target: URL): Promise<URL[]> {
    // Certificates are for names.
    if (target.protocol === 'https:' || isIP(bareHost(target)) !== 0) return [target];
    const addresses = await this.#resolver.lookup(target.hostname);
    return addresses.map(({ address, family }) =>
      at(target, family === 6 ? `[${address}]` : address, target.port),
    );
  }

  #isOwn({ hostname, port, protocol }: URL): boolean {
    const { bound, reached } = this.#own ?? {};
    if (bound === undefined || reached === undefined) return false;
    if (protocol !== bound.protocol) return false;
    if (port === reached.port && hostname === reached.hostname) return true;
    const bare = bareHost({ hostname });
    return (
      port === bound.port &&
      isWildcard(bound.hostname) &&
      Object.values(networkInterfaces()).some((addresses) =>
        addresses?.some(({ address }) => address === bare),
      )
    );
  }
}

function at(like: URL, hostname: string, port: number | string): URL {
  return new URL(`${like.protocol}//${hostname.replace(/\.$/, '')}:${port}`);
}

function isWildcard(hostname: string): boolean {
  return hostname === '0.0.0.0' || hostname === '[::]';
}
