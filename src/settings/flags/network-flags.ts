import { LIMITS } from '../../limits.ts';
import type { FlagSpec } from './flag-spec.ts';
import { isSoundAddress, LONGEST_PATH } from '../../net/unix-address.ts';
import {
  byteSize,
  count,
  hostName,
  listOf,
  origin,
  port,
  readable,
  seconds,
  text,
} from './values.ts';

const hostAddress = readable(
  `an address, or unix:/PATH with at most ${LONGEST_PATH} bytes`,
  (given) => (given !== '' && isSoundAddress(given) ? given : undefined),
);

/** Characters that need no escape, in a URL as in HTML. */
const ROOT_PATH = /^(?:\/[\w.~-]+){1,8}$/;
const LONGEST_ROOT = 200;

const rootPath = readable('a path such as /llm', (given) => {
  const trimmed = given.replace(/\/$/, '');
  const isSound = ROOT_PATH.test(trimmed) && trimmed.length <= LONGEST_ROOT;
  return trimmed === '' || isSound ? trimmed : undefined;
});

/** Where the server listens, and to which callers it answers. */
export const NETWORK_FLAGS = {
  host: {
    flags: '--host <address>',
    description: 'address to listen on; 0.0.0.0 for all, unix:/PATH for a socket',
    schema: hostAddress,
    isBasic: true,
    default: '127.0.0.1',
  },
  port: {
    flags: '--port <number>',
    short: 'p',
    description: 'port to listen on; 0 takes a free one',
    schema: port,
    isBasic: true,
    default: 8000,
    // Hosts such as Cloud Run say by it where they send requests.
    variables: ['PORT'],
  },
  rootPath: {
    flags: '--root-path <path>',
    description: 'path below which a proxy shows the server, such as /llm',
    schema: rootPath,
    default: '',
    defaultText: 'none',
  },
  corsOrigin: {
    flags: '--cors-origin <origins>',
    description: 'web pages that may use the server; * is all',
    schema: listOf(origin).optional(),
    list: 'commas',
    isBasic: true,
    defaultText: 'its own',
  },
  allowedHost: {
    flags: '--allowed-host <names>',
    description: 'names by which clients may call a server without keys; * is any',
    schema: listOf(hostName).optional(),
    list: 'commas',
    defaultText: 'its own',
  },
  tlsCert: {
    flags: '--tls-cert <file>',
    description: 'certificate chain in PEM, to serve HTTPS; SIGHUP reloads it',
    schema: text.optional(),
  },
  tlsKey: {
    flags: '--tls-key <file>',
    description: "the certificate's private key in PEM",
    schema: text.optional(),
  },
  ui: {
    flags: '--ui',
    description: 'the page for browsers at /',
    default: true,
  },
  grpcPort: {
    flags: '--grpc-port <number>',
    description: 'port for the Open Inference Protocol over gRPC; 0 takes a free one',
    schema: port.optional(),
    defaultText: 'no gRPC',
  },
  grpcPublicHealth: {
    flags: '--grpc-public-health',
    description: 'health, probes and reflection over gRPC need no key',
  },
  metricsPort: {
    flags: '--metrics-port <number>',
    description: 'port for /metrics and probes, without a key; /metrics is then only there',
    schema: port.optional(),
    defaultText: 'on --port',
  },
  maxBody: {
    flags: '--max-body <size>',
    description: 'largest request body, WebSocket frame or gRPC message',
    schema: byteSize,
    default: LIMITS.bodyBytes,
    defaultText: '8m',
  },
  maxConnections: {
    flags: '--max-connections <n>',
    description: 'connections at once; if all are taken, the longest idle one is closed',
    schema: count(1),
    default: LIMITS.connections,
  },
  maxConnectionsPerAddress: {
    flags: '--max-connections-per-address <n>',
    description: 'connections per client address; not for servers behind a proxy',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  receiveTimeout: {
    flags: '--receive-timeout <seconds>',
    description: 'longest time for a request to arrive',
    schema: seconds,
    default: LIMITS.receiveMs / 1000,
  },
} satisfies Record<string, FlagSpec>;
