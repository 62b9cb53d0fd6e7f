/** Flags of vLLM and llama-server that change nothing here. docs/migrating.md lists them. */

/** A flag that changes nothing here. */
export interface NeedlessFlag {
  /** Why, in a few words; '' where that goes without saying. */
  readonly note: string;
  /** Whether a value follows, or what it looks like. */
  readonly takes?: boolean | RegExp;
}

const ON_OFF = /^(on|off|auto|0|1|true|false|enabled|disabled)$/i;

const ALWAYS = 'always on';
const BY_MODEL = "the model's files say it";
const STEPS = '--max-num-batched-tokens sizes steps';
const NO_GPU_LAYERS = '--device picks the device';

export const NEEDLESS: ReadonlyMap<string, NeedlessFlag> = new Map(
  Object.entries<NeedlessFlag>({
    // vLLM
    '--enable-auto-tool-choice': { note: ALWAYS },
    '--enable-lora': { note: '--lora-modules or --lora-dir do it' },
    '--trust-remote-code': { note: "no model's code is run" },
    '--enable-chunked-prefill': { note: ALWAYS },
    '--async-scheduling': { note: '' },
    '--enable-sleep-mode': { note: ALWAYS },
    '--enable-server-load-tracking': { note: ALWAYS },
    '--enforce-eager': { note: '' },
    '--swap-space': { note: '', takes: true },
    '--block-size': { note: '', takes: true },
    '--quantization': { note: BY_MODEL, takes: true },
    '-q': { note: BY_MODEL, takes: true },
    '--load-format': { note: BY_MODEL, takes: true },
    '--tokenizer-mode': { note: '', takes: true },
    '--task': { note: BY_MODEL, takes: true },
    '--runner': { note: BY_MODEL, takes: true },
    '--convert': { note: BY_MODEL, takes: true },
    '--guided-decoding-backend': { note: 'built in', takes: true },
    '--enable-reasoning': { note: '--reasoning-parser does it' },
    '--chat-template-content-format': { note: 'the template says it', takes: true },
    '--disable-log-requests': { note: 'prompts are logged with --log-prompts alone' },
    '--no-enable-log-requests': { note: 'prompts are logged with --log-prompts alone' },
    '--enable-log-requests': { note: 'each request is logged; --log-prompts adds its prompt' },
    '--disable-log-stats': { note: '/metrics has them' },
    '--max-logprobs': { note: '', takes: true },
    '--seed': { note: 'requests have `seed`', takes: true },
    '-s': { note: 'requests have `seed`', takes: true },
    '--max-seq-len-to-capture': { note: '', takes: true },
    '--disable-custom-all-reduce': { note: '' },
    '--distributed-executor-backend': { note: '', takes: true },
    '--enable-prompt-tokens-details': { note: ALWAYS },
    '--enable-request-id-headers': { note: ALWAYS },
    '--disable-frontend-multiprocessing': { note: '' },
    '--scheduling-policy': { note: 'requests have `priority`', takes: true },
    '--compilation-config': { note: '', takes: true },
    '-O': { note: '', takes: true },
    '--max-log-len': { note: '--log-prompts has 256 tokens of each', takes: true },
    '--language-model-only': { note: '' },
    // llama-server
    '--jinja': { note: ALWAYS },
    '-fa': { note: '', takes: ON_OFF },
    '--flash-attn': { note: '', takes: ON_OFF },
    '-ngl': { note: NO_GPU_LAYERS, takes: true },
    '--gpu-layers': { note: NO_GPU_LAYERS, takes: true },
    '--n-gpu-layers': { note: NO_GPU_LAYERS, takes: true },
    '-cb': { note: ALWAYS },
    '--cont-batching': { note: ALWAYS },
    '-b': { note: STEPS, takes: true },
    '--batch-size': { note: STEPS, takes: true },
    '-ub': { note: STEPS, takes: true },
    '--ubatch-size': { note: STEPS, takes: true },
    '-tb': { note: 'as --threads', takes: true },
    '--threads-batch': { note: 'as --threads', takes: true },
    '--threads-http': { note: '', takes: true },
    '--metrics': { note: '/metrics is there' },
    '--slots': { note: '/slots is there' },
    '--props': { note: '' },
    '--embedding': { note: BY_MODEL },
    '--embeddings': { note: BY_MODEL },
    '--rerank': { note: BY_MODEL },
    '--reranking': { note: BY_MODEL },
    '--pooling': { note: BY_MODEL, takes: true },
    '--mlock': { note: '' },
    '--mmap': { note: '' },
    '--no-mmap': { note: '' },
    '--numa': { note: '', takes: true },
    '--kv-unified': { note: '' },
    '-kvu': { note: '' },
    '--swa-full': { note: '' },
    '--cache-reuse': { note: 'beginnings are found again', takes: true },
    '--draft-min': { note: '', takes: true },
    '--draft-n-min': { note: '', takes: true },
    '--spec-draft-n-min': { note: '', takes: true },
    '--draft-p-min': { note: '', takes: true },
    '-ngld': { note: NO_GPU_LAYERS, takes: true },
    '--gpu-layers-draft': { note: NO_GPU_LAYERS, takes: true },
    '--log-colors': { note: 'NO_COLOR turns them off', takes: ON_OFF },
    '--log-prefix': { note: '' },
    '--log-timestamps': { note: '' },
    '--fit': { note: '', takes: ON_OFF },
    '-fit': { note: '', takes: ON_OFF },
    '--perf': { note: '' },
    '--no-perf': { note: '' },
  }),
);
