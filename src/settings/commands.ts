/** The commands, what each is for, and which flags it takes. */
import { COMPUTING, keysOf, LOADING, PLACES, SERVE_FLAGS } from './flag-sets.ts';
import { BENCH_FLAGS, PROFILE_FLAGS } from './flags/bench-flags.ts';
import { DEVICE_FLAGS } from './flags/engine-flags.ts';
import { BATCH_FLAGS, DISTILL_FLAGS, OPTIMIZE_FLAGS } from './flags/offline-flags.ts';
import { PROBE_FLAGS } from './flags/probe-flags.ts';
import { BUILD_FLAGS, EVAL_FLAGS } from './flags/report-flags.ts';
import { SAMPLING_FLAGS } from './flags/sampling-flags.ts';
import { STEP_FLAGS } from './flags/step-flags.ts';
import type { CommandSpec } from './command-spec.ts';
import type { OptionName, Options } from './options.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const MODEL_OPERAND = { name: 'model', isOptional: true, meaning: 'the same as --model' } as const;
const SERVER_NAME = { name: 'model', meaning: 'its name on the server' } as const;

export const COMMANDS = {
  serve: {
    summary: 'serve models over HTTP and WebSocket',
    operands: [{ ...MODEL_OPERAND, isRepeated: true, option: 'models' }],
    flags: SERVE_FLAGS,
    examples: [
      'chairlift serve Qwen/Qwen3-0.6B --port 9000',
      'chairlift serve ./model.gguf -c 4096 --served-model-name gpt-4o-mini',
      'chairlift serve --host 0.0.0.0 --api-key-file keys --config chairlift.yaml --check',
    ],
  },
  run: {
    summary: 'chat with a model: of the server that runs, or in an engine of its own',
    alias: 'chat',
    operands: [
      { name: 'model', meaning: "a name of the server's, or what `serve --model` takes" },
      {
        name: 'prompt',
        isOptional: true,
        isRepeated: true,
        meaning: 'what to say; then, and with text on stdin, it answers once',
      },
    ],
    flags: [
      'server',
      'url',
      'serverKey',
      'serverKeyFile',
      'system',
      'image',
      'maxTokens',
      'seed',
      ...keysOf(SAMPLING_FLAGS),
      'chatTemplate',
      'mmproj',
      'modelRepository',
      ...COMPUTING,
      ...PLACES,
    ],
    reads: LOADING,
    examples: ['chairlift run summit', 'chairlift run Qwen/Qwen3-0.6B "What is 23 + 45?"'],
  },
  pull: {
    summary: 'download a model into the cache, and print where it is',
    operands: [
      {
        name: 'model',
        meaning: 'owner/name, hf:owner/name[:file or folder][@revision] or s3://bucket/prefix',
      },
    ],
    flags: ['precision', ...keysOf(DEVICE_FLAGS), ...PLACES],
    examples: ['chairlift pull Qwen/Qwen3-0.6B'],
  },
  list: {
    summary: 'list the models on this machine: embedded, downloaded, of a repository',
    alias: 'ls',
    operands: [],
    flags: ['modelRepository', 'cacheDir', 'config'],
  },
  show: {
    summary: 'show what a model on this machine is',
    operands: [{ name: 'model', meaning: 'a folder, a file, or a name of `list`' }],
    flags: ['modelRepository', 'cacheDir', 'config'],
  },
  fit: {
    summary: 'say what memory a model takes in each precision, and how many texts fit beside it',
    operands: [{ ...MODEL_OPERAND, option: 'model' }],
    flags: ['model', 'maxNumSeqs', ...COMPUTING, 'randomWeights', 'modelRepository', ...PLACES],
    reads: LOADING,
    examples: ['chairlift fit ./my-model --max-model-len 8192'],
  },
  rm: {
    summary: 'remove a model that was downloaded',
    operands: [{ name: 'model', meaning: 'owner/name' }],
    flags: ['yes', 'cacheDir', 'config'],
  },
  ps: {
    summary: 'list the models that a server has in memory',
    operands: [],
    flags: ['url', 'serverKey', 'serverKeyFile', 'config'],
  },
  stop: {
    summary: 'unload a model from a server, once its requests have ended',
    operands: [SERVER_NAME],
    flags: ['url', 'serverKey', 'serverKeyFile', 'config'],
  },
  generate: {
    summary: 'print the answer to one prompt, without a server',
    operands: [
      { name: 'prompt', isOptional: true, meaning: 'what to say; read from stdin if left out' },
    ],
    flags: [
      'system',
      'maxTokens',
      'seed',
      'raw',
      'model',
      ...keysOf(SAMPLING_FLAGS),
      'chatTemplate',
      'adapter',
      'precision',
      'kvCacheDtype',
      'kernels',
      'maxModelLen',
      'threads',
      'randomWeights',
      'modelRepository',
      ...PLACES,
    ],
    examples: ['chairlift generate "Once upon a time" --raw --max-tokens 50'],
  },
  batch: {
    summary: 'run the requests of a file, without a server; the same command again goes on',
    operands: [],
    flags: [
      ...keysOf(BATCH_FLAGS),
      'model',
      ...COMPUTING,
      'maxNumSeqs',
      'chatTemplate',
      ...keysOf(SAMPLING_FLAGS),
      'randomWeights',
      'modelRepository',
      ...PLACES,
    ],
    reads: LOADING,
    examples: ['chairlift batch -i requests.jsonl -o results.jsonl --model ./my-model'],
  },
  build: {
    summary: 'build the ONNX graph of a model into the cache, and print where it is',
    operands: [{ ...MODEL_OPERAND, option: 'model' }],
    flags: [
      ...keysOf(BUILD_FLAGS),
      'json',
      'model',
      'adapter',
      ...keysOf(DEVICE_FLAGS),
      'precision',
      'calibrate',
      'maxModelLen',
      'kvCacheDtype',
      'randomWeights',
      'modelRepository',
      ...PLACES,
    ],
    examples: ['chairlift build ./my-model --precision int8 --compare'],
  },
  bench: {
    summary: 'load-test an OpenAI-compatible server: latencies, throughput, goodput, plots',
    operands: [],
    flags: [
      'url',
      'benchKey',
      'serverKeyFile',
      'askedModel',
      ...keysOf(BENCH_FLAGS),
      'fixedSeed',
      'saveResult',
      'html',
      'json',
      'config',
    ],
    examples: ['chairlift bench --num-prompts 200 --request-rate 1,2,4,8 --html report.html'],
  },
  profile: {
    summary: 'send a few requests to a server, and show where their time goes',
    operands: [{ name: 'url', isOptional: true, meaning: 'the same as --url', option: 'url' }],
    flags: [
      'url',
      'serverKey',
      'serverKeyFile',
      'askedModel',
      ...keysOf(PROFILE_FLAGS),
      'json',
      'config',
    ],
  },
  eval: {
    summary: 'measure perplexity, task accuracy, speed and memory of a model, per precision',
    operands: [{ ...MODEL_OPERAND, option: 'model' }],
    flags: [
      ...keysOf(EVAL_FLAGS),
      'json',
      'saveResult',
      'html',
      'model',
      'adapter',
      'calibrate',
      'kvCacheDtype',
      'kernels',
      'maxNumSeqs',
      'threads',
      'modelRepository',
      ...PLACES,
    ],
    examples: ['chairlift eval --compare summit summit:int8 ./my-model --html report.html'],
  },
  'distill-data': {
    summary:
      'have a teacher write texts, with its likeliest tokens at each position; the same command again goes on',
    operands: [],
    flags: [
      ...keysOf(DISTILL_FLAGS),
      'fixedSeed',
      'adapter',
      ...COMPUTING,
      'maxNumSeqs',
      'modelRepository',
      ...PLACES,
    ],
    examples: [
      'chairlift distill-data --teacher summit --prompts prompts.jsonl --out targets.jsonl.gz',
    ],
  },
  optimize: {
    summary: 'make a smaller model: prune, make sparse and round, step by step',
    operands: [{ ...MODEL_OPERAND, option: 'model' }],
    flags: [
      ...keysOf(OPTIMIZE_FLAGS),
      'fixedSeed',
      ...keysOf(STEP_FLAGS),
      'model',
      'calibrate',
      'randomWeights',
      'threads',
      'modelRepository',
      ...PLACES,
    ],
    examples: ['chairlift optimize summit --out smaller --prune-mlp 30% --rounding gptq'],
  },
  doctor: {
    summary: 'check this machine: libraries, memory, folders, GPU, port, hub; say what to do',
    operands: [{ name: 'model', isOptional: true, meaning: 'whether `serve` could load it, too' }],
    flags: ['host', 'port', 'json', ...PLACES],
  },
  probe: {
    summary: 'ask the server of this machine whether it is alive: the exit code is 0 or 1',
    operands: [],
    flags: [...keysOf(PROBE_FLAGS), 'host', 'port', 'metricsPort', 'tlsCert', 'config'],
    // A server that runs goes on with what its file had before.
    isLenient: true,
  },
  completion: {
    summary: 'print what completes commands and flags in a shell',
    operands: [{ name: 'shell', meaning: SHELLS.join(', '), choices: SHELLS }],
    flags: [],
    examples: [
      'chairlift completion bash > ~/.local/share/bash-completion/completions/chairlift',
      'chairlift completion zsh > ~/.zfunc/_chairlift',
      'chairlift completion fish > ~/.config/fish/completions/chairlift.fish',
    ],
  },
} satisfies Record<string, CommandSpec>;

export type CommandName = keyof typeof COMMANDS;

type Reads<C> = C extends { readonly reads: readonly (infer N extends OptionName)[] } ? N : never;

/** The options of a command, those included that it only reads. */
export type OptionOf<C extends CommandName> =
  | (typeof COMMANDS)[C]['flags'][number]
  | Reads<(typeof COMMANDS)[C]>;

export type ServeOptions = Options<OptionOf<'serve'>>;

export function commandSpec(name: CommandName): CommandSpec {
  return COMMANDS[name];
}

/** @param name as it is typed; null where there is no such command */
export function findCommand(name: string): CommandName | null {
  const names = keysOf(COMMANDS);
  return names.find((each) => each === name || commandSpec(each).alias === name) ?? null;
}
