import { expect, it } from 'vitest';
import { refuseOptions } from '../../../src/engine/process/refuse-options.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import type { BuiltModel, DecoderManifest } from '../../../src/model/manifest.ts';

const manifest: DecoderManifest = {
  formatVersion: 1,
  family: 'lfm2',
  precision: 'int8',
  activationDtype: 'float32',
  kvCacheDtype: 'float32',
  kernels: 'native',
  numLayers: 1,
  numKvHeads: 1,
  headDim: 16,
  vocabSize: 64,
  maxPositionEmbeddings: 64,
  numParameters: 1,
};

function modelOf(states: DecoderManifest['states']): BuiltModel {
  return {
    contentId: '',
    graphPath: '',
    mixedGraphPath: '',
    pagedGraphPath: null,
    weightsFolder: '',
    manifest: { ...manifest, states },
  };
}

const plain = modelOf(undefined);
const hybrid = modelOf([{ name: 'layers.0.convolution', width: 64 }]);

function refuse(model: BuiltModel, given: Partial<EngineOptions>): void {
  refuseOptions({
    model,
    maxNumSeqs: 4,
    maxModelLen: 64,
    maxNumBatchedTokens: 64,
    threads: 1,
    kvCacheMemory: 2 ** 20,
    prefixCaching: true,
    targetItlMs: null,
    ...given,
  });
}

const drafts = { draftModel: null, maxTokens: 4 };

it.each([
  [
    { device: { ...CPU_DEVICE, name: 'webgpu' as const } },
    'which are kept on the CPU alone: leave out --device',
  ],
  [{ durableKv: true }, 'which --durable-kv does not keep: leave it out'],
  [
    { prefixTier: { memoryBytes: 1, folder: null } },
    'which --prefix-cache-memory and --prefix-cache-dir do not keep: leave them out',
  ],
])('states do not go with %o', (given, message) => {
  expect(() => refuse(hybrid, given)).toThrow(`lfm2 has layers with states, ${message}`);
  expect(() => refuse(plain, given)).not.toThrow();
});

it('layers with different heads do not go with a device', () => {
  const varied = modelOf(undefined);
  const layerHeads = [{ numKvHeads: 1, headDim: 32 }];
  const model = { ...varied, manifest: { ...varied.manifest, layerHeads } };
  expect(() => refuse(model, { device: { ...CPU_DEVICE, name: 'webgpu' } })).toThrow(
    'lfm2 has layers with different heads, which are computed on the CPU alone: leave out --device',
  );
  expect(() => refuse(model, {})).not.toThrow();
});

it('a model with states runs as it is, with drafts too, and makes none for another', () => {
  expect(() => refuse(hybrid, { speculative: drafts, device: CPU_DEVICE })).not.toThrow();
  expect(() => refuse(plain, { speculative: { ...drafts, draftModel: hybrid } })).toThrow(
    'a draft model can have no layers with states',
  );
});
