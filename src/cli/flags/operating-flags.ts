import { z } from 'zod';
import { LOG_FORMATS, LOG_LEVELS } from '../../observability/logger.ts';
import type { FlagSpec } from './flag-spec.ts';
import { count, peerList, serverUrl } from './values.ts';

/** How a server is watched, and how it ends. */
export const OPERATING_FLAGS = {
  config: {
    flags: '--config <file>',
    description: 'YAML file of these flags; SIGHUP reloads keys, limits and the log level',
    schema: z.string().min(1).optional(),
  },
  metricsPort: {
    flags: '--metrics-port <number>',
    description: 'port for /metrics and probes, without a key; /metrics is then only there',
    schema: count(0).pipe(z.number().max(65_535)).optional(),
    defaultText: 'on --port',
  },
  metricsAliases: {
    flags: '--metrics-aliases <names>',
    description: "vllm: /metrics has vLLM's names too, for tools that look for these",
    schema: z.enum(['vllm']).optional(),
    defaultText: 'none',
  },
  drainDelay: {
    flags: '--drain-delay <seconds>',
    description: 'after SIGTERM, how long requests are still taken while /ready fails already',
    schema: z.coerce.number().min(0),
    default: 0,
  },
  drainStatus: {
    flags: '--drain-status <status>',
    description: 'what /ready answers after SIGTERM: 503, or 404 for HAProxy',
    schema: z.enum(['503', '404']).transform((text) => (text === '404' ? 404 : 503)),
    default: 503,
  },
  resumeKey: {
    flags: '--resume-key <key>',
    description:
      'secret of all replicas, with which any of them goes on with an answer that another began',
    schema: z.string().min(16, 'expected at least 16 characters').optional(),
    isSecret: true,
    defaultText: 'answers end with their server',
  },
  handoverTo: {
    flags: '--handover-to <where>',
    description:
      'replicas that get the running answers after SIGTERM: http://10.0.0.7:8000, dns:name:port for all addresses of a name, dns:_service._tcp.name, or redis for all that tell of themselves in --redis; needs --resume-key',
    schema: peerList.optional(),
    defaultText: 'none',
  },
  handoverAddress: {
    flags: '--handover-address <url>',
    description: 'where other replicas reach this one, as it tells in Redis',
    schema: serverUrl.optional(),
    defaultText: "the machine's first address, and --port",
  },
  shutdownTimeout: {
    flags: '--shutdown-timeout <seconds>',
    description: 'how long running requests may take to finish after that',
    schema: z.coerce.number().min(0),
    default: 30,
  },
  logLevel: {
    flags: '--log-level <level>',
    description: `one of ${LOG_LEVELS.join(', ')}`,
    schema: z.enum(LOG_LEVELS),
    default: 'info',
  },
  logFormat: {
    flags: '--log-format <format>',
    description: 'json, text, or auto: text on a terminal',
    schema: z.enum(LOG_FORMATS),
    default: 'auto',
  },
  logPrompts: {
    flags: '--log-prompts',
    description: 'log the beginning of each prompt; without it no text of requests is logged',
    schema: z.boolean().optional(),
  },
} satisfies Record<string, FlagSpec>;
