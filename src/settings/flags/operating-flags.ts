import { LOG_FORMATS, LOG_LEVELS } from '../../observability/log-levels.ts';
import type { FlagSpec } from './flag-spec.ts';
import { decimal, oneOf, text } from './values.ts';

/** How a server is configured and watched, and how it ends. */
export const OPERATING_FLAGS = {
  config: {
    flags: '--config <file>',
    description: 'YAML file of flags; SIGHUP reloads keys, limits and log level',
    schema: text.optional(),
    isBasic: true,
  },
  check: {
    flags: '--check',
    description: 'check flags, files and models, say what would be served, and end',
    isBasic: true,
  },
  logLevel: {
    flags: '--log-level <level>',
    description: LOG_LEVELS.join(', '),
    schema: oneOf(LOG_LEVELS),
    isBasic: true,
    default: 'info',
  },
  logFormat: {
    flags: '--log-format <format>',
    description: 'json, text, or auto: text on a terminal',
    schema: oneOf(LOG_FORMATS),
    default: 'auto',
  },
  logPrompts: {
    flags: '--log-prompts',
    description: 'log the beginning of each prompt; without it no text of requests is logged',
  },
  metricsAliases: {
    flags: '--metrics-aliases <names>',
    description: "vllm: /metrics has vLLM's names too, for tools that look for these",
    schema: oneOf(['vllm']).optional(),
    defaultText: 'none',
  },
  drainDelay: {
    flags: '--drain-delay <seconds>',
    description: 'after SIGTERM, how long requests are still taken while /ready fails already',
    schema: decimal({ min: 0 }),
    default: 0,
  },
  drainStatus: {
    flags: '--drain-status <status>',
    description: 'status of /ready after SIGTERM: 503, or 404 for HAProxy',
    schema: oneOf(['503', '404']).transform((status) => (status === '404' ? 404 : 503)),
    default: 503,
  },
  shutdownTimeout: {
    flags: '--shutdown-timeout <seconds>',
    description: 'how long running requests may take to finish after that',
    schema: decimal({ min: 0 }),
    default: 30,
  },
} satisfies Record<string, FlagSpec>;
