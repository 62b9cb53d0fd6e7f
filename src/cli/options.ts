/**
 * Every flag of every command, in one place: its environment variable, default, meaning and check.
 * Names follow vLLM's where one exists.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { PRECISIONS } from '../model/build/manifest.ts';
import { LOG_LEVELS } from '../observability/logger.ts';
import { digestOf, unnamedKeys } from '../server/auth/api-keys.ts';
import {
  assignments,
  byteSize,
  count,
  hostList,
  originList,
  priorityRange,
} from './option-schemas.ts';

interface OptionSpec {
  readonly flags: string;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly default?: unknown;
  /** May be given several times; the values, which are objects, are merged. */
  readonly isRepeatable?: boolean;
  /** Shown in place of the default's value. */
  readonly defaultText?: string;
}

const OPTIONS = {
  model: {
    flags: '--model <folder>',
    description:
      'Hugging Face folder or ONNX export, or hf:owner/name[@revision] to download one; ' +
      'with --random-weights also a preset or config.json',
    schema: z.string().min(1).optional(),
    defaultText: 'the embedded model, summit',
  },
  servedModelName: {
    flags: '--served-model-name <name>',
    description: 'what clients call the model',
    schema: z.string().min(1).optional(),
    defaultText: "the folder's name",
  },
  randomWeights: {
    flags: '--random-weights <seed>',
    description: 'make weights up instead of reading them, for tests and benchmarks',
    schema: count(0).optional(),
  },
  host: {
    flags: '--host <address>',
    description: 'address to listen on; 0.0.0.0 is every one',
    schema: z.string().min(1),
    default: '127.0.0.1',
  },
  port: {
    flags: '--port <number>',
    description: 'port to listen on; 0 takes a free one',
    schema: count(0).pipe(z.number().max(65_535)),
    default: 8000,
  },
  device: {
    flags: '--device <name>',
    description: 'what computes: auto, cpu, webgpu, cuda or tensorrt',
    schema: z.enum(['auto', 'cpu', 'webgpu', 'cuda', 'tensorrt']),
    default: 'auto',
  },
  deviceId: {
    flags: '--device-id <n>',
    description: 'which one of several devices of the kind',
    schema: count(0),
    default: 0,
  },
  providerOption: {
    flags: '--provider-option <key=value>',
    description: 'setting of the ONNX Runtime execution provider; may be repeated',
    schema: assignments.optional(),
    isRepeatable: true,
  },
  providerLibrary: {
    flags: '--provider-library <device=path>',
    description: 'plugin library to take the execution provider of a device from; may be repeated',
    schema: assignments.optional(),
    isRepeatable: true,
  },
  graphCapture: {
    flags: '--graph-capture',
    description: 'record decode runs and replay them (WebGPU); no GPU has been measured yet',
    schema: z.boolean().optional(),
  },
  precision: {
    flags: '--precision <name>',
    description: `number format of the weights: auto, ${PRECISIONS.join(', ')}; GPUs compute fp16 and int4 in float16`,
    schema: z.enum(['auto', ...PRECISIONS]),
    default: 'auto',
  },
  kvCacheDtype: {
    flags: '--kv-cache-dtype <name>',
    description:
      'number format of the KV cache: auto (what is computed in) or int8, a quarter of float32 (CPU)',
    schema: z.enum(['auto', 'int8']),
    default: 'auto',
  },
  attention: {
    flags: '--attention <name>',
    description:
      'how the KV cache lies in memory: slots (a row for each sequence), paged (blocks, with PagedAttention; GPUs that compute in float16) or auto, which is slots, since no GPU has been measured yet',
    schema: z.enum(['auto', 'slots', 'paged']),
    default: 'auto',
  },
  maxNumSeqs: {
    flags: '--max-num-seqs <n>',
    description: 'sequences that run at once: rows of the KV cache',
    schema: count(1),
    default: 32,
  },
  maxModelLen: {
    flags: '--max-model-len <tokens>',
    description: 'longest prompt plus output',
    schema: count(2).optional(),
    defaultText: "the model's own limit",
  },
  maxNumBatchedTokens: {
    flags: '--max-num-batched-tokens <n>',
    description: 'most tokens that one iteration computes; longer prompts take several',
    schema: count(1).optional(),
    defaultText: '512, or --max-num-seqs if larger',
  },
  kvCacheMemory: {
    flags: '--kv-cache-memory <size>',
    description: "memory of the device's that the KV cache may use",
    schema: byteSize.optional(),
    defaultText: 'half of what is free; on a GPU of what it has, 1g where it does not say',
  },
  prefixCaching: {
    flags: '--no-prefix-caching',
    description: 'compute every prompt from its first token, though an earlier one began alike',
    schema: z.boolean(),
  },
  targetItlMs: {
    flags: '--target-itl-ms <ms>',
    description: 'inter-token latency that prefill beside running streams must keep to',
    schema: z.coerce.number().gt(0).optional(),
    defaultText: '1.35 times the decode time, more when many prompts wait',
  },
  maxQueue: {
    flags: '--max-queue <n>',
    description: 'requests that may wait for a row; further ones get 429',
    schema: count(0),
    default: 256,
  },
  maxQueueTokens: {
    flags: '--max-queue-tokens <n>',
    description: 'prompt tokens that may wait; further requests get 429',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  requestTimeout: {
    flags: '--request-timeout <seconds>',
    description: 'longest that a request may take, waiting included',
    schema: z.coerce.number().gt(0).optional(),
    defaultText: 'no limit',
  },
  stepTimeout: {
    flags: '--step-timeout <seconds>',
    description: 'an engine that is silent for longer, with work to do, is killed and replaced',
    schema: z.coerce.number().gt(0),
    default: 60,
  },
  speculative: {
    flags: '--speculative <name>',
    description:
      'guess coming tokens where few streams decode: auto, off, ngram (from texts) or draft (from --draft-model)',
    schema: z.enum(['auto', 'off', 'ngram', 'draft']),
    default: 'auto',
  },
  speculativeTokens: {
    flags: '--speculative-tokens <n>',
    description: 'most tokens to guess at a time',
    schema: count(1).pipe(z.number().max(32)),
    default: 8,
  },
  draftModel: {
    flags: '--draft-model <folder>',
    description: 'smaller model with the same tokenizer, to guess with',
    schema: z.string().min(1).optional(),
  },
  durableKv: {
    flags: '--durable-kv',
    description: 'keep the KV cache through a crash of the engine (Linux; steps get slower)',
    schema: z.boolean().optional(),
  },
  tokenizerPoolSize: {
    flags: '--tokenizer-pool-size <n>',
    description: 'threads that render and tokenize all but short prompts, started as needed',
    schema: count(1),
    default: 2,
  },
  grammarPoolSize: {
    flags: '--grammar-pool-size <n>',
    description: 'threads that compile grammars of structured output, started as needed',
    schema: count(1),
    default: LIMITS.grammarPoolSize,
  },
  specialTokensInContent: {
    flags: '--special-tokens-in-content',
    description: "let special tokens' texts in messages become those tokens (default: plain text)",
    schema: z.boolean().optional(),
  },
  maxBody: {
    flags: '--max-body <size>',
    description: 'largest request body or WebSocket frame',
    schema: byteSize,
    default: LIMITS.bodyBytes,
    defaultText: '8m',
  },
  maxConnections: {
    flags: '--max-connections <n>',
    description: 'connections at once; when there are so many, the longest idle makes way',
    schema: count(1),
    default: LIMITS.connections,
  },
  maxConnectionsPerAddress: {
    flags: '--max-connections-per-address <n>',
    description: 'connections of one client address at once; not for use after a proxy',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  receiveTimeout: {
    flags: '--receive-timeout <seconds>',
    description: 'longest that a request may take to arrive',
    schema: z.coerce.number().gt(0),
    default: LIMITS.receiveMs / 1000,
  },
  responseStoreSize: {
    flags: '--response-store-size <size>',
    description: 'memory for responses of /v1/responses that clients come back to; 0 keeps none',
    schema: byteSize,
    default: LIMITS.responseStoreBytes,
    defaultText: '64m',
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
  },
  apiKeyFile: {
    flags: '--api-key-file <file>',
    description: 'keys that clients must send: `name key` on each line; SIGHUP reads it anew',
    schema: z.string().min(1).optional(),
  },
  adminApiKey: {
    flags: '--admin-api-key <key>',
    description: 'key that opens everything, and alone /metrics',
    schema: z.string().min(1).transform(digestOf).optional(),
  },
  sharePrefixCache: {
    flags: '--share-prefix-cache',
    description: "let clients with keys of their own find each other's prompts in the prefix cache",
    schema: z.boolean().optional(),
  },
  priorityRange: {
    flags: '--priority-range <min,max>',
    description: 'priorities that requests may have; others count as the nearest of these',
    schema: priorityRange,
    default: LIMITS.priorities,
    defaultText: `${LIMITS.priorities.min},${LIMITS.priorities.max}`,
  },
  allowedHost: {
    flags: '--allowed-host <names>',
    description: 'names by which clients may call a server without keys; * is any',
    schema: hostList.optional(),
    defaultText: 'its own',
  },
  tlsCert: {
    flags: '--tls-cert <file>',
    description: 'certificate chain in PEM, to serve HTTPS; SIGHUP reads it anew',
    schema: z.string().min(1).optional(),
  },
  tlsKey: {
    flags: '--tls-key <file>',
    description: "the certificate's private key in PEM",
    schema: z.string().min(1).optional(),
  },
  toolCallParser: {
    flags: '--tool-call-parser <name>',
    description: 'how the model writes tool calls: auto, none, hermes, llama3_json or mistral',
    schema: z.enum(['auto', 'none', 'hermes', 'llama3_json', 'mistral']),
    default: 'auto',
  },
  reasoningParser: {
    flags: '--reasoning-parser <name>',
    description: 'split <think>...</think> from the answer: auto, none or think',
    schema: z.enum(['auto', 'none', 'think']),
    default: 'auto',
  },
  corsOrigin: {
    flags: '--cors-origin <origins>',
    description: 'web pages that may use the server, such as https://chat.example; * is all',
    schema: originList.optional(),
    defaultText: 'none but its own',
  },
  shutdownTimeout: {
    flags: '--shutdown-timeout <seconds>',
    description: 'how long running requests may take to finish after SIGTERM',
    schema: z.coerce.number().min(0),
    default: 30,
  },
  threads: {
    flags: '--threads <n>',
    description:
      'CPU threads of the model; 0 takes one per physical core, within the quota of a container',
    schema: count(0),
    default: 0,
  },
  logLevel: {
    flags: '--log-level <level>',
    description: `one of ${LOG_LEVELS.join(', ')}`,
    schema: z.enum(LOG_LEVELS),
    default: 'info',
  },
} satisfies Record<string, OptionSpec>;

export type OptionName = keyof typeof OPTIONS;
export type Options<N extends OptionName = OptionName> = {
  readonly [K in N]: z.output<(typeof OPTIONS)[K]['schema']>;
};

/** Adds flags to a command; each can also be set by `CHAIRLIFT_` and its name in capitals. */
export function addOptions(command: Command, names: readonly OptionName[]): Command {
  for (const name of names) {
    const spec: OptionSpec = OPTIONS[name];
    // Commander names no default for a flag that has no value by default.
    const isOpen = spec.default === undefined && spec.defaultText !== undefined;
    const description = isOpen
      ? `${spec.description} (default: ${spec.defaultText})`
      : spec.description;
    const option = new Option(spec.flags, description)
      .env(environmentName(spec.flags))
      .argParser((text, previous: unknown) => {
        const value = check(spec.schema, text);
        return spec.isRepeatable ? Object.assign({}, previous, value) : value;
      });
    if (spec.default !== undefined) option.default(spec.default, spec.defaultText);
    command.addOption(option);
  }
  return command;
}

/** The checked values of a command's flags: the flag, else the environment, else the default. */
export function readOptions<N extends OptionName>(command: Command): Options<N> {
  return command.opts();
}

function check(schema: z.ZodType, text: string): unknown {
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  throw new InvalidArgumentError(
    `${result.error.issues.map(({ message }) => message).join('; ')}.`,
  );
}

/** `--max-num-seqs <n>` is CHAIRLIFT_MAX_NUM_SEQS. */
function environmentName(flags: string): string {
  const [flag = ''] = flags.split(' ');
  return flag.replace('--', 'CHAIRLIFT_').replaceAll('-', '_').toUpperCase();
}
