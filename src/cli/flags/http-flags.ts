import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { digestOf, unnamedKeys } from '../../server/auth/api-keys.ts';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize, count, hostList, originList } from './values.ts';

/** Hosts such as Cloud Run say by PORT where they send requests; what is no port there is not theirs. */
export function portOfHost({ PORT = '' }: NodeJS.ProcessEnv): number {
  const port = Number(PORT);
  return /^\d+$/.test(PORT) && port > 0 && port < 65_536 ? port : 8000;
}

/** Who may connect, from where, and with which key. */
export const HTTP_FLAGS = {
  host: {
    flags: '--host <address>',
    description: 'address to listen on; 0.0.0.0 for all',
    schema: z.string().min(1),
    default: '127.0.0.1',
  },
  port: {
    flags: '--port <number>',
    description: 'port to listen on; 0 takes a free one',
    schema: count(0).pipe(z.number().max(65_535)),
    default: portOfHost(process.env),
    defaultText: '8000, or PORT',
  },
  grpcPort: {
    flags: '--grpc-port <number>',
    description: 'port for the Open Inference Protocol over gRPC; 0 takes a free one',
    schema: count(0).pipe(z.number().max(65_535)).optional(),
    defaultText: 'no gRPC',
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
    schema: z.coerce.number().gt(0),
    default: LIMITS.receiveMs / 1000,
  },
  apiKey: {
    flags: '--api-key <key>',
    description:
      'key that clients must send; several are separated by commas; see also --api-key-file',
    // From here on only digests are known.
    schema: z
      .string()
      .transform((text) => unnamedKeys(text.split(',').filter((key) => key !== '')))
      .refine((keys) => keys.length > 0, 'expected at least one key')
      .optional(),
    isSecret: true,
  },
  apiKeyFile: {
    flags: '--api-key-file <file>',
    description: 'keys that clients must send: `name key` on each line; SIGHUP reloads it',
    schema: z.string().min(1).optional(),
  },
  adminApiKey: {
    flags: '--admin-api-key <key>',
    description: 'key for everything; if set, the only one for /metrics; loads and unloads models',
    schema: z.string().min(1).transform(digestOf).optional(),
    isSecret: true,
  },
  rateLimitRequests: {
    flags: '--rate-limit-requests <n>',
    description: 'requests per minute of each key, or of each address on a server without keys',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  rateLimitTokens: {
    flags: '--rate-limit-tokens <n>',
    description: 'tokens per minute of each key or address, prompts and answers together',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  allowedHost: {
    flags: '--allowed-host <names>',
    description: 'names by which clients may call a server without keys; * is any',
    schema: hostList.optional(),
    defaultText: 'its own',
  },
  tlsCert: {
    flags: '--tls-cert <file>',
    description: 'certificate chain in PEM, to serve HTTPS; SIGHUP reloads it',
    schema: z.string().min(1).optional(),
  },
  tlsKey: {
    flags: '--tls-key <file>',
    description: "the certificate's private key in PEM",
    schema: z.string().min(1).optional(),
  },
  corsOrigin: {
    flags: '--cors-origin <origins>',
    description: 'web pages that may use the server, such as https://chat.example; * is all',
    schema: originList.optional(),
    defaultText: 'none but its own',
  },
  ui: {
    flags: '--no-ui',
    description: 'no page for browsers at /',
    schema: z.boolean(),
  },
} satisfies Record<string, FlagSpec>;
