/** Flags of vLLM and llama-server that we have under another name. docs/migrating.md lists them. */
import { badValue, type Place } from './flag-value.ts';
import { inWords } from './values.ts';

/** A flag that means the same as one of ours. */
export interface SameFlag {
  /** Without dashes; `no-ui` for a switch that it turns off. */
  readonly to: string;
  /** From its value to ours. @throws UsageError for one that there is not here */
  readonly text?: (value: string, place: Place) => string;
  /** Our value, where it has none. */
  readonly fixed?: string;
}

/** @param answers what to use in place of values that there are not here */
function among(
  values: Readonly<Record<string, string>>,
  answers: Readonly<Record<string, string>> = {},
): (value: string, place: Place) => string {
  const ours = new Map(Object.entries(values));
  const others = new Map(Object.entries(answers));
  return (value, place) => {
    const name = value.toLowerCase();
    const expected = others.get(name) ?? `expected ${inWords([...ours.keys()])}`;
    const found = ours.get(name);
    if (found === undefined) throw badValue(value, place, expected);
    return found;
  };
}

const onHub = (name: string) => (name.startsWith('hf:') ? name : `hf:${name}`);
const NO_OTHER_BITS = 'the KV cache has 8 or 4 bits: use q8_0, q4_0 or q4_1';
const cacheType = among(
  { f32: 'float32', f16: 'float16', q8_0: 'int8', q4_0: 'int4', q4_1: 'int4' },
  {
    bf16: 'there is no bfloat16 here: use f16',
    iq4_nl: NO_OTHER_BITS,
    q5_0: NO_OTHER_BITS,
    q5_1: NO_OTHER_BITS,
  },
);

/** A size in a unit of theirs. @param unit of ours */
const sizeIn = (unit: 'm' | 'g') => (value: string, place: Place) => {
  if (!/^\d+(\.\d+)?$/.test(value)) throw badValue(value, place, 'expected a number of at least 0');
  return `${value}${unit}`;
};

export const SAME: ReadonlyMap<string, SameFlag> = new Map(
  Object.entries<SameFlag>({
    // vLLM
    '--kv-cache-memory-bytes': { to: 'kv-cache-memory' },
    '--enable-prefix-caching': { to: 'prefix-caching' },
    '--kv-offloading-size': { to: 'prefix-cache-memory', text: sizeIn('g') },
    '--no-enable-prefix-caching': { to: 'no-prefix-caching' },
    '--ssl-certfile': { to: 'tls-cert' },
    '--ssl-keyfile': { to: 'tls-key' },
    '--allowed-origins': { to: 'cors-origin' },
    '--download-dir': { to: 'cache-dir' },
    '--dtype': {
      to: 'precision',
      text: among(
        { auto: 'auto', half: 'fp16', float16: 'fp16', float: 'fp32', float32: 'fp32' },
        {
          bfloat16:
            'there is no bfloat16 here: use float16, which is as small, float32, or --precision int8',
        },
      ),
    },
    '--speculative-model': { to: 'draft-model' },
    '--num-speculative-tokens': { to: 'speculative-tokens' },
    '--uvicorn-log-level': {
      to: 'log-level',
      text: among({
        debug: 'debug',
        info: 'info',
        warning: 'warn',
        error: 'error',
        critical: 'fatal',
        trace: 'trace',
      }),
    },
    '--disable-uvicorn-access-log': { to: 'log-level', fixed: 'warn' },
    '--base-url': { to: 'url' },
    '--default-chat-template-kwargs': { to: 'chat-template-kwargs' },
    // llama-server
    '--cache-ram': { to: 'prefix-cache-memory', text: sizeIn('m') },
    '-cram': { to: 'prefix-cache-memory', text: sizeIn('m') },
    '--api-prefix': { to: 'root-path' },
    '--ctx-size': { to: 'max-model-len' },
    '--parallel': { to: 'max-num-seqs' },
    '-np': { to: 'max-num-seqs' },
    '--alias': { to: 'served-model-name' },
    '-a': { to: 'served-model-name' },
    '--hf-repo': { to: 'model', text: onHub },
    '-hf': { to: 'model', text: onHub },
    '-hfr': { to: 'model', text: onHub },
    '-hft': { to: 'hf-token' },
    '-t': { to: 'threads' },
    '-dev': { to: 'device' },
    '--model-draft': { to: 'draft-model' },
    '-md': { to: 'draft-model' },
    '--spec-draft-model': { to: 'draft-model' },
    '--hf-repo-draft': { to: 'draft-model', text: onHub },
    '-hfd': { to: 'draft-model', text: onHub },
    '--draft': { to: 'speculative-tokens' },
    '--draft-max': { to: 'speculative-tokens' },
    '--draft-n': { to: 'speculative-tokens' },
    '--spec-draft-n-max': { to: 'speculative-tokens' },
    '--webui': { to: 'ui' },
    '--no-webui': { to: 'no-ui' },
    '--ssl-cert-file': { to: 'tls-cert' },
    '--ssl-key-file': { to: 'tls-key' },
    '--cors-origins': { to: 'cors-origin' },
    '--models-dir': { to: 'model-repository' },
    '--temp': { to: 'temperature' },
    '--repeat-penalty': { to: 'repetition-penalty' },
    '--chat-template-file': { to: 'chat-template' },
    '--lora': { to: 'adapter' },
    '--cache-prompt': { to: 'prefix-caching' },
    '--no-cache-prompt': { to: 'no-prefix-caching' },
    '--cache-type-k': { to: 'kv-cache-dtype', text: cacheType },
    '-ctk': { to: 'kv-cache-dtype', text: cacheType },
    '--cache-type-v': { to: 'kv-cache-dtype', text: cacheType },
    '-ctv': { to: 'kv-cache-dtype', text: cacheType },
    '--no-warmup': { to: 'warmup', fixed: 'off' },
    '-mm': { to: 'mmproj' },
    '--no-mmproj': { to: 'mmproj', fixed: 'off' },
    '--verbose': { to: 'log-level', fixed: 'debug' },
    '--log-verbose': { to: 'log-level', fixed: 'debug' },
    '-v': { to: 'log-level', fixed: 'debug' },
    '--log-disable': { to: 'log-level', fixed: 'silent' },
    '--reasoning-format': {
      to: 'reasoning-parser',
      text: among({ none: 'none', auto: 'auto', deepseek: 'think' }),
    },
    '--predict': { to: 'max-tokens' },
    '--n-predict': { to: 'max-tokens' },
    '-s': { to: 'seed' },
    '-sys': { to: 'system' },
    '--system-prompt': { to: 'system' },
  }),
);
