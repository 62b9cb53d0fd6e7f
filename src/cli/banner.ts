import type { ModelInfo } from '../front/registry/model-entry.ts';
import type { ModelControl } from '../front/registry/model-control.ts';
import type { EngineInfo } from '../engine/process/protocol.ts';
import type { DecoderManifest } from '../model/build/manifest.ts';
import type { EngineLimits } from './engine-limits.ts';
import { formatBytes, formatCount } from './text-format.ts';
import { describeConstantScales } from './weight-report.ts';

export interface BannerFacts {
  readonly url: string;
  /** Null where there is none. */
  readonly grpcAddress: string | null;
  readonly version: string;
  readonly modelName: string;
  readonly manifest: DecoderManifest;
  /** Why this precision; null when it was asked for. */
  readonly precisionReason: string | null;
  /** Whose kernels compute, and why; null where there is nothing to tell. */
  readonly kernelSet: string | null;
  /** What was measured and is taken; null where nothing was. */
  readonly tuned: string | null;
  /** The device as its driver calls it; null where that can't be known. */
  readonly adapter: string | null;
  /** Why this device; null when it was asked for. */
  readonly deviceReason: string | null;
  readonly info: EngineInfo;
  readonly limits: EngineLimits;
  readonly attention: 'slots' | 'paged';
  readonly canChat: boolean;
  readonly needsKey: boolean;
}

/** What `serve` prints when it is ready. */
export function banner(facts: BannerFacts): string {
  const { url, version, modelName, manifest, info, limits } = facts;
  const { precisionReason, kernelSet, tuned, adapter, deviceReason } = facts;
  const { maxNumSeqs, maxModelLen } = limits;
  const { constantScales } = manifest;
  const isCpu = info.device === 'cpu';
  const where = isCpu
    ? `cpu, ${info.threads} thread${info.threads === 1 ? '' : 's'}`
    : `${info.device}${adapter === null ? '' : ` (${adapter})`}`;
  const memory = formatBytes(info.kvCacheBytes);
  const rows = [
    ['Chairlift', `${version} at ${url}`],
    ...(facts.grpcAddress === null ? [] : [['', `gRPC at ${facts.grpcAddress}`]]),
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
      `${Math.min(maxNumSeqs, info.numSlots)} slots x ${maxModelLen} positions, ${manifest.kvCacheDtype}` +
        (facts.attention === 'paged' ? ', in blocks' : ''),
    ],
    ['', isCpu ? `up to ${memory}, taken as it fills` : memory],
  ];
  const lines = rows.map(([label = '', value = '']) => `  ${label.padEnd(10)} ${value}`);
  return ['', ...lines, '', exampleCall(facts), ''].join('\n');
}

export interface RepositoryFacts {
  readonly url: string;
  /** Null where there is none. */
  readonly grpcAddress: string | null;
  readonly version: string;
  readonly models: readonly ModelInfo[];
  readonly control: ModelControl;
  readonly needsKey: boolean;
}

/** Of models that are shown. */
const MAX_MODELS = 20;

/** What `serve` prints when it has several models. */
export function repositoryBanner({
  url,
  grpcAddress,
  version,
  models,
  control,
  needsKey,
}: RepositoryFacts): string {
  const shown = models.slice(0, MAX_MODELS).map(({ name, version: number, state, reason }) => {
    const why = reason === null ? '' : `: ${reason}`;
    return ['', `${name}@${number} ${state}${why}`];
  });
  const rows = [
    ['Chairlift', `${version} at ${url}`],
    ...(grpcAddress === null ? [] : [['', `gRPC at ${grpcAddress}`]]),
    ['models', `${models.length}, loaded ${WHEN_LOADED[control]}`],
    ...shown,
    ...(models.length > MAX_MODELS ? [['', `and ${models.length - MAX_MODELS} more`]] : []),
  ];
  const lines = rows.map(([label = '', value = '']) => `  ${label.padEnd(10)} ${value}`);
  const [first] = models;
  const model = first?.name ?? 'MODEL';
  const call = exampleCall({ url, canChat: true, needsKey }, `"model": "${model}", `);
  return ['', ...lines, '', call, ''].join('\n');
}

const WHEN_LOADED: Readonly<Record<ModelControl, string>> = {
  none: 'at start',
  explicit: 'when they are told to be',
  poll: 'as the repository changes',
  auto: 'for the first request',
};

function exampleCall(
  { url, canChat, needsKey }: Pick<BannerFacts, 'url' | 'canChat' | 'needsKey'>,
  model = '',
): string {
  const path = canChat ? 'chat/completions' : 'completions';
  const body = canChat
    ? `{${model}"messages": [{"role": "user", "content": "What is 23 + 45?"}], "stream": true}`
    : `{${model}"prompt": "Hello", "max_tokens": 32, "stream": true}`;
  const key = needsKey ? ` -H 'authorization: Bearer KEY'` : '';
  return `  curl -N ${url}/v1/${path}${key} -H 'content-type: application/json' \\\n    -d '${body}'`;
}
