import { z } from 'zod';
import type { FlagSpec } from './flag-spec.ts';

const endpoint = z
  .string()
  .regex(/^(tcp|ipc):\/\/.+/, 'expected an endpoint such as tcp://127.0.0.1:5557')
  .optional();

/** What the prefix caches hold, for routers. */
export const KV_EVENT_FLAGS = {
  kvEvents: {
    flags: '--kv-events <endpoint>',
    description:
      "ZeroMQ endpoint to publish the prefix caches' blocks at, with their tokens, such as tcp://127.0.0.1:5557; needs npm install zeromq",
    schema: endpoint,
    defaultText: 'none',
  },
  kvEventsReplay: {
    flags: '--kv-events-replay <endpoint>',
    description: 'ZeroMQ endpoint where routers ask for events that they missed',
    schema: endpoint,
    defaultText: 'none',
  },
  kvEventsAddress: {
    flags: '--kv-events-address <ip:port>',
    description: 'by which routers know this server',
    schema: z
      .string()
      .regex(/^[^@\s]+:\d+$/, 'expected an address and a port')
      .optional(),
    defaultText: '--host and --port',
  },
} satisfies Record<string, FlagSpec>;
