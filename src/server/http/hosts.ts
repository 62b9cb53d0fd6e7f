/**
 * Which names a server without API keys answers to. A web page can have its own name point at this
 * machine (DNS rebinding) and then read the answers as if they came from the page's server. It
 * cannot do so if a key is needed, since it has none, or under a name that is not its own.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { hostRefused } from '../errors.ts';
import { socketPathOf } from '../../net/unix-address.ts';

const ANY_HOST = '*';

/** A name or an address, in brackets where it has colons, and perhaps a port. */
const HOST = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d*)?$/i;

/** Names that nobody can have in the public DNS: of container networks, clusters and home networks. */
const PRIVATE_SUFFIX = /\.(local|internal|home\.arpa)$/;

/** Services by name and namespace, as pods call them. A shorter `name.namespace` could be a page's: `attacker.dev`. */
const SERVICE_SUFFIX = /\.svc$/;

/** Whether only this machine reaches an address to listen on. */
export function isLoopback(host: string): boolean {
  return (
    /^(.+\.)?localhost$/.test(host) ||
    host === '::1' ||
    (isIP(host) === 4 && host.startsWith('127.')) ||
    /^::ffff:127\.[\d.]+$/i.test(host)
  );
}

/** Whether nobody but this machine reaches a server by what it listens on: a loopback address, or a unix socket. */
export function isOfMachine(bound: string): boolean {
  return socketPathOf(bound) !== null || isLoopback(bound);
}

export function allowHosts(context: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    requireAllowedHost(c.env.incoming, context);
    await next();
  };
}

/**
 * Clients without a `Host` header are no browsers.
 * @throws ApiError 403 for a name that is not this server's, if it has no API keys
 */
export function requireAllowedHost(
  { headers: { host } }: IncomingMessage,
  { keys, config }: Pick<ServerContext, 'keys' | 'config'>,
): void {
  if (!keys.isOpen || host === undefined) return;
  const [, address, name] = HOST.exec(host) ?? [];
  // `localhost.` is `localhost`.
  const asked = (address ?? name ?? '').toLowerCase().replace(/\.$/, '');
  const { allowedHosts, host: bound } = config;
  if (asked === bound.toLowerCase() || isLoopback(asked)) return;
  if (allowedHosts.includes(asked) || allowedHosts.includes(ANY_HOST)) return;
  if (isOfMachine(bound)) throw hostRefused(host);
  const isService = config.isInCluster && SERVICE_SUFFIX.test(asked);
  if (!isService && !isOwnName(asked)) throw hostRefused(host);
}

/**
 * For a server that other machines reach: an address, which no page can redirect, or a name that no
 * page can have, such as a container's.
 */
function isOwnName(host: string): boolean {
  if (host === '') return false;
  return isIP(host) !== 0 || !host.includes('.') || PRIVATE_SUFFIX.test(host);
}
