import type { ModelInfo } from '../../front/registry/model-entry.ts';
import type { ModelControl } from '../../front/registry/model-control.ts';
import type { EngineInfo } from '../../engine/process/protocol.ts';
import type { DecoderManifest } from '../../model/manifest.ts';
import type { EngineLimits } from '../../serving/plan/engine-limits.ts';
import { socketPathOf } from '../../net/unix-address.ts';
import { hostsToReach } from '../../serving/server/addresses.ts';
import type { Ports } from '../../serving/server/open-ports.ts';
import { formatBytes, formatCount } from '../terminal/text-format.ts';
import { describeConstantScales } from '../build/weight-report.ts';

/** Where a server is. */
export interface Places extends Pick<Ports, 'url' | 'grpcAddress' | 'metricsUrl'> {
  /** It has a page for browsers. */
  readonly hasPage: boolean;
}

export interface BannerFacts {
  readonly places: Places;
  readonly version: string;
  readonly modelName: string;
  readonly manifest: DecoderManifest;
  /** Why this precision; null when it was asked for. */
  readonly precisionReason: string | null;
  /** Kernels that compute, and why; null to show nothing. */
  readonly kernelSet: string | null;
  /** Tuned settings in use; null if none are. */
  readonly tuned: string | null;
  /** The device as its driver calls it; null where that can't be known. */
  readonly adapter: string | null;
  /** Why this device; null when it was asked for. */
  readonly deviceReason: string | null;
  readonly info: EngineInfo;
  readonly limits: EngineLimits;
  readonly attention: 'slots' | 'paged';
  /** How requests sample that do not say. */
  readonly sampling: string;
  /** As /v1/models has them. */
  readonly capabilities: readonly string[];
  readonly needsKey: boolean;
}

/** Text that `serve` prints when it is ready. */
export function banner(facts: BannerFacts): string {
  const { places, version, modelName, manifest, info, limits } = facts;
  const { precisionReason, kernelSet, tuned, adapter, deviceReason } = facts;
  const { maxModelLen } = limits;
  const { constantScales } = manifest;
  const isCpu = info.device === 'cpu';
  const where = isCpu
    ? `cpu, ${info.threads} thread${info.threads === 1 ? '' : 's'}`
    : `${info.device}${adapter === null ? '' : ` (${adapter})`}`;
  const memory = formatBytes(info.kvCacheBytes);
  const rows = [
    ...addressRows(places, version),
    [
      'model',
      `${modelName} (${manifest.family}, ${formatCount(manifest.numParameters)} parameters)`,
    ],
    ['runs in', `${manifest.precision} on ${where}`],
    ...(precisionReason === null ? [] : [['', precisionReason]]),
    ...(constantScales ? [['', describeConstantScales(constantScales)]] : []),
    ...(kernelSet === null ? [] : [['kernels', kernelSet]]),
    ...(tuned === null ? [] : [['tuned', tuned]]),
    ...(deviceReason === null ? [] : [['', `${info.device} ${deviceReason}`]]),
    [
      'KV cache',
      `${info.maxNumSeqs} slots x ${maxModelLen} positions, ${manifest.kvCacheDtype}` +
        (facts.attention === 'paged' ? ', in blocks' : ''),
    ],
    ['', isCpu ? `up to ${memory}, allocated as it fills` : memory],
    ['sampling', facts.sampling],
    ...pageRows(places),
  ];
  const lines = rows.map(([label = '', value = '']) => `  ${label.padEnd(10)} ${value}`);
  const { capabilities } = facts;
  const writes = capabilities.includes('chat') ? 'chat' : 'completions';
  const example = capabilities.includes('transcription') ? 'transcription' : writes;
  return ['', ...lines, '', exampleCall(facts, example), ''].join('\n');
}

/** The server's own address first, then those by which it is reached from elsewhere. */
function addressRows({ url, grpcAddress }: Places, version: string): string[][] {
  const [first = url, ...others] = addressesOf(url);
  return [
    ['Chairlift', `${version} at ${first}`],
    ...others.slice(0, MAX_ADDRESSES).map((other) => ['', `and ${other}`]),
    ...(grpcAddress === null ? [] : [['', `gRPC at ${addressesOf(`tcp://${grpcAddress}`)[0]}`]]),
  ];
}

function pageRows({ url, metricsUrl, hasPage }: Places): string[][] {
  const isSocket = socketPathOf(url) !== null;
  if (isSocket && metricsUrl === null) return [];
  const [first = url] = addressesOf(url);
  const [metrics = ''] = addressesOf(metricsUrl ?? `${url}/metrics`);
  return [
    ...(hasPage && !isSocket ? [['chat', `${first}/`]] : []),
    ...(isSocket ? [] : [['docs', `${first}/docs`]]),
    ['metrics', metrics],
  ];
}

/** A URL as it can be typed: a server may listen on all addresses. */
function addressesOf(url: string): string[] {
  if (socketPathOf(url) !== null) return [url];
  const [, scheme = '', host = '', rest = ''] = /^(\w+:\/\/)(.*?)(:\d+.*)$/.exec(url) ?? [];
  return hostsToReach(host).map((each) => scheme.replace('tcp://', '') + each + rest);
}

export interface RepositoryFacts {
  readonly places: Places;
  readonly version: string;
  readonly models: readonly ModelInfo[];
  /** Capabilities of the first model; null if unknown. */
  readonly capabilities: readonly string[] | null;
  readonly control: ModelControl;
  readonly needsKey: boolean;
}

/** Models and addresses that are shown. */
const MAX_MODELS = 20;
const MAX_ADDRESSES = 4;

/** Text that `serve` prints when it has several models. */
export function repositoryBanner({
  places,
  version,
  models,
  capabilities,
  control,
  needsKey,
}: RepositoryFacts): string {
  const shown = models.slice(0, MAX_MODELS).map(({ name, version: number, state, reason }) => {
    const why = reason === null ? '' : `: ${reason}`;
    return ['', `${name}@${number} ${state}${why}`];
  });
  const rows = [
    ...addressRows(places, version),
    ['models', `${models.length}, loaded ${WHEN_LOADED[control]}`],
    ...shown,
    ...(models.length > MAX_MODELS ? [['', `and ${models.length - MAX_MODELS} more`]] : []),
    ...pageRows(places),
  ];
  const lines = rows.map(([label = '', value = '']) => `  ${label.padEnd(10)} ${value}`);
  const [first] = models;
  const model = first?.name ?? 'MODEL';
  const call = exampleCall({ places, needsKey }, exampleFor(capabilities ?? []), model);
  return ['', ...lines, '', call, ''].join('\n');
}

const WHEN_LOADED: Readonly<Record<ModelControl, string>> = {
  none: 'at start',
  explicit: 'on request',
  poll: 'as the repository changes',
  auto: 'at the first request',
};

/** By what a call is for: its path and its body, without the model. */
const EXAMPLES = {
  chat: [
    'chat/completions',
    '"messages": [{"role": "user", "content": "What is 23 + 45?"}], "stream": true',
  ],
  completions: ['completions', '"prompt": "Hello", "max_tokens": 32, "stream": true'],
  embeddings: ['embeddings', '"input": "Hello"'],
  rerank: ['rerank', '"query": "What is a panda?", "documents": ["A bear.", "A car."]'],
} as const;

type Example = keyof typeof EXAMPLES | 'infer' | 'transcription';

/** Files of a model that generates text may not say whether it can chat; most can. */
function exampleFor(capabilities: readonly string[]): Example {
  const others = ['embeddings', 'rerank', 'infer', 'transcription'] as const;
  return others.find((name) => capabilities.includes(name)) ?? 'chat';
}

/** @param model left out where there is one alone */
function exampleCall(
  { places, needsKey }: Pick<BannerFacts, 'places' | 'needsKey'>,
  example: Example,
  model?: string,
): string {
  const socketPath = socketPathOf(places.url);
  const [url] =
    socketPath === null
      ? addressesOf(places.url)
      : [`--unix-socket ${socketPath} http://localhost`];
  const key = needsKey ? ` -H 'authorization: Bearer KEY'` : '';
  // Input tensors differ from model to model, and this call reports them.
  if (example === 'infer') return `  curl ${url}/v2/models/${model}${key}`;
  if (example === 'transcription') {
    const name = model === undefined ? '' : ` -F model=${model}`;
    return `  curl ${url}/v1/audio/transcriptions${key}${name} -F file=@speech.wav`;
  }
  const [path, fields] = EXAMPLES[example];
  const body = model === undefined ? fields : `"model": "${model}", ${fields}`;
  return `  curl -N ${url}/v1/${path}${key} -H 'content-type: application/json' \\\n    -d '{${body}}'`;
}
