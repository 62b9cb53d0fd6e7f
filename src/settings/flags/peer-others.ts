/** Flags of vLLM and llama-server that mean something else here. docs/migrating.md lists them. */

/** A flag that nothing here means. */
export interface OtherFlag {
  /** Advice on what to do in its place. */
  readonly answer: string;
  /** Values with which it changes nothing. */
  readonly except?: readonly string[];
}

const ONE_DEVICE = 'a model runs on one device; --instances N has several engine processes of it';
const LENGTH = 'requests say how long an answer may get: max_tokens';
const ON_HUB = 'write --model hf:owner/name:FILE@REVISION';

export const OTHERS: ReadonlyMap<string, OtherFlag> = new Map(
  Object.entries<OtherFlag>({
    // vLLM
    '--gpu-memory-utilization': {
      answer: 'use --kv-cache-memory SIZE, such as 4g: memory of the KV cache, not a share of all',
    },
    '--tensor-parallel-size': { answer: ONE_DEVICE, except: ['1'] },
    '-tp': { answer: ONE_DEVICE, except: ['1'] },
    '--pipeline-parallel-size': { answer: ONE_DEVICE, except: ['1'] },
    '-pp': { answer: ONE_DEVICE, except: ['1'] },
    '--data-parallel-size': { answer: 'use --instances N', except: ['1'] },
    '-dp': { answer: 'use --instances N', except: ['1'] },
    '--no-enable-chunked-prefill': {
      answer:
        'long prompts are always computed in several steps; --max-num-batched-tokens sizes them',
    },
    '--tokenizer': { answer: "the tokenizer is read from the model's folder or file" },
    '--revision': { answer: 'write --model hf:owner/name@REVISION' },
    '--tokenizer-revision': { answer: 'write --model hf:owner/name@REVISION' },
    '--speculative-config': {
      answer:
        'use --draft-model MODEL, --speculative-tokens N and --speculative auto, ngram, draft or mtp',
    },
    '--kv-events-config': { answer: 'use --kv-events ENDPOINT and --kv-events-replay ENDPOINT' },
    '--disable-fastapi-docs': {
      answer: '/docs and /openapi.json say nothing of this server; a proxy can close them',
    },
    '--num-gpu-blocks-override': { answer: 'use --kv-cache-memory SIZE, such as 4g' },
    '--cpu-offload-gb': { answer: 'weights are on one device, --device cpu or a GPU' },
    '--hf-overrides': { answer: "change the model's config.json" },
    '--rope-scaling': { answer: "change the model's config.json" },
    '--rope-theta': { answer: "change the model's config.json" },
    '--uds': { answer: 'use --host unix:/PATH' },
    '--ssl-ca-certs': { answer: 'clients show a key, not a certificate: --api-key' },
    '--middleware': { answer: 'there is none' },
    '--otlp-traces-endpoint': {
      answer:
        'load an OpenTelemetry SDK before the server (docs/tracing.md) and set OTEL_EXPORTER_OTLP_ENDPOINT',
    },
    // llama-server
    '-n': { answer: LENGTH },
    '--predict': { answer: LENGTH },
    '--n-predict': { answer: LENGTH },
    '--presence-penalty': {
      answer: 'requests have presence_penalty',
      except: ['0', '0.0', '0.00'],
    },
    '--frequency-penalty': {
      answer: 'requests have frequency_penalty',
      except: ['0', '0.0', '0.00'],
    },
    '--no-slots': { answer: '/slots can be closed by --admin-api-key, or by a proxy' },
    '--hf-file': { answer: ON_HUB },
    '-hff': { answer: ON_HUB },
    '--model-url': { answer: 'download it, or write --model hf:owner/name:FILE' },
    '-mu': { answer: 'download it, or write --model hf:owner/name:FILE' },
    '--lora-scaled': {
      answer: 'use --lora-modules name=FOLDER; requests have `lora` with a scale',
    },
    '--mmproj-url': { answer: 'download it, and write --mmproj FILE' },
    '-mmu': { answer: 'download it, and write --mmproj FILE' },
    '--main-gpu': { answer: 'use --device-id N' },
    '-mg': { answer: 'use --device-id N' },
    '--split-mode': { answer: ONE_DEVICE },
    '-sm': { answer: ONE_DEVICE },
    '--tensor-split': { answer: ONE_DEVICE },
    '-ts': { answer: ONE_DEVICE },
    '--timeout': {
      answer: 'use --request-timeout for the whole request, --receive-timeout for its arrival',
    },
    '-to': {
      answer: 'use --request-timeout for the whole request, --receive-timeout for its arrival',
    },
    '--no-jinja': {
      answer: "chats always go through the model's Jinja template, or --chat-template",
    },
    '--no-kv-offload': { answer: 'use --device cpu' },
    '-nkvo': { answer: 'use --device cpu' },
    '--no-cont-batching': {
      answer: 'requests are always batched; --max-num-seqs 1 runs one at a time',
    },
    '-nocb': { answer: 'requests are always batched; --max-num-seqs 1 runs one at a time' },
    '--path': { answer: 'files are served by a server of their own' },
    '--log-file': { answer: 'the log goes to stderr: 2>> FILE' },
    '--log-verbosity': { answer: 'use --log-level' },
    '-lv': { answer: 'use --log-level' },
    '--sleep-idle-seconds': { answer: 'use --keep-alive with --model-control auto' },
    '--cache-list': { answer: 'use `chairlift list`' },
    '-cl': { answer: 'use `chairlift list`' },
    '--completion-bash': { answer: 'use `chairlift completion bash`' },
    '--slot-save-path': {
      answer:
        'use --prefix-cache-dir: prefixes are saved and found by themselves, and /slots works',
    },
  }),
);
