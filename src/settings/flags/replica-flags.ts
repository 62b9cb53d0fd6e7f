import { z } from 'zod';
import { MIN_RESUME_KEY } from '../../server/resume/resume-key.ts';
import type { FlagSpec } from './flag-spec.ts';
import { listOf, peer, readable, serverUrl, text } from './values.ts';

const redisUrl = readable('redis://host:port or rediss://host:port', (given) =>
  /^rediss?:\/\/\S+$/.test(given) && URL.canParse(given) ? given : undefined,
);

const endpoint = readable('an endpoint such as tcp://127.0.0.1:5557', (given) =>
  /^tcp:\/\/(\*|\[[\da-f:.]+\]|[^:/[\]*]+):\d+$/i.test(given) &&
  URL.canParse(given.replace('*', 'a'))
    ? given
    : undefined,
);

const address = readable('an address and a port, such as 10.0.0.1:8000', (given) =>
  /^[^@\s]+:\d+$/.test(given) ? given : undefined,
);

const resumeKey = z.string().min(MIN_RESUME_KEY, `expected at least ${MIN_RESUME_KEY} characters`);

/** Flags of state that servers of one model share, and of events that they publish to routers. */
export const REPLICA_FLAGS = {
  redis: {
    flags: '--redis <url>',
    description:
      'Redis or Valkey shared by all replicas, for rate limits (--rate-limit-*) and caches (--response-cache, --embedding-cache)',
    schema: redisUrl.optional(),
    secret: 'part',
    defaultText: 'none',
  },
  redisPasswordFile: {
    flags: '--redis-password-file <file>',
    description: 'file with the password of --redis',
    schema: text.optional(),
  },
  resumeKey: {
    flags: '--resume-key <key>',
    description:
      'secret of all replicas, with which any of them goes on with an answer that another began',
    schema: resumeKey.optional(),
    secret: 'whole',
    defaultText: 'answers end with their server',
  },
  resumeKeyFile: {
    flags: '--resume-key-file <file>',
    description: 'file with that secret alone',
    schema: text.optional(),
  },
  handoverTo: {
    flags: '--handover-to <where>',
    description:
      'replicas that get the running answers after SIGTERM: http://10.0.0.7:8000, dns:name:port for all addresses of a name, dns:_service._tcp.name, or redis for all that tell of themselves in --redis; needs --resume-key',
    schema: listOf(peer).optional(),
    list: 'commas',
    defaultText: 'none',
  },
  handoverAddress: {
    flags: '--handover-address <url>',
    description: 'where other replicas reach this one, as it tells in Redis',
    schema: serverUrl.optional(),
    defaultText: "the machine's first address, and --port",
  },
  kvEvents: {
    flags: '--kv-events <endpoint>',
    description:
      "ZeroMQ endpoint to publish the prefix caches' blocks at, with their tokens, such as tcp://127.0.0.1:5557",
    schema: endpoint.optional(),
    defaultText: 'none',
  },
  kvEventsReplay: {
    flags: '--kv-events-replay <endpoint>',
    description: 'ZeroMQ endpoint where routers ask for events that they missed',
    schema: endpoint.optional(),
    defaultText: 'none',
  },
  kvEventsAddress: {
    flags: '--kv-events-address <ip:port>',
    description: 'address of this server as routers know it, in the topic of its events',
    schema: address.optional(),
    defaultText: '--host and --port',
  },
} satisfies Record<string, FlagSpec>;
