import { MODEL_CONTROLS } from '../../front/registry/model-control.ts';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize, count, duration, listOf, oneOf, preload, seconds, text } from './values.ts';

/** Which models a server has, and which of them it holds in memory. */
export const REGISTRY_FLAGS = {
  modelRepository: {
    flags: '--model-repository <folder>',
    description: 'folder of models, each loaded for its first request',
    schema: text.optional(),
    isBasic: true,
  },
  modelControl: {
    flags: '--model-control <mode>',
    description:
      'when models are loaded: none (all at start), explicit (by command), poll (as the repository changes) or auto (for the first request)',
    schema: oneOf(MODEL_CONTROLS).optional(),
    defaultText: 'auto with --model-repository, else none',
  },
  repositoryPollSecs: {
    flags: '--repository-poll-secs <n>',
    description: 'seconds between looks at the repository, with --model-control poll and auto',
    schema: seconds,
    default: 15,
  },
  modelsMax: {
    flags: '--models-max <n>',
    description: 'models in memory at once; the one that has been idle for longest goes',
    schema: count(1),
    default: 4,
  },
  modelsMemory: {
    flags: '--models-memory <size>',
    description: 'memory that all models may take: weights and KV caches',
    schema: byteSize.optional(),
    defaultText: 'no limit',
  },
  keepAlive: {
    flags: '--keep-alive <duration>',
    description: 'how long an idle model stays, with --model-control auto; -1 is forever',
    schema: duration,
    default: 300_000,
    defaultText: '5m',
  },
  preload: {
    flags: '--preload <names>',
    description:
      'models or aliases to load at start, with --model-control auto; name=HH:MM at that time of each day',
    schema: listOf(preload).optional(),
    list: 'commas',
    defaultText: 'as chairlift.json says',
  },
  instances: {
    flags: '--instances <n>',
    description: 'engine processes of each model; threads and KV cache are divided among them',
    schema: count(1),
    default: 1,
  },
  warmup: {
    flags: '--warmup <mode>',
    description:
      'what is computed before a model is ready: off, quick, or full (every power of two)',
    schema: oneOf(['off', 'quick', 'full']),
    default: 'quick',
  },
} satisfies Record<string, FlagSpec>;
