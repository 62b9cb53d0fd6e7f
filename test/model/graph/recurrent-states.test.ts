/** Manifest and graphs of a build of a model whose layers have states. */
import { readFile } from 'node:fs/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { ModelProtoSchema } from '../../../src/onnx/onnx_pb.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const LFM2 = { kind: 'folder', path: 'test/fixtures/hybrids/lfm2' } as const;
const NATIVE = { nativeKernels: { kvCacheDtype: 'float32' } } as const;

async function valuesOf(path: string): Promise<{ inputs: string[]; outputs: string[] }> {
  const { graph } = fromBinary(ModelProtoSchema, await readFile(path));
  const names = (values: readonly { name: string }[] = []) => values.map(({ name }) => name);
  return { inputs: names(graph?.input), outputs: names(graph?.output) };
}

describe.each([
  ['of ONNX Runtime', { precision: 'fp32' }],
  ['of ours', { precision: 'int8', ...NATIVE }],
] as const)('with kernels %s', (_, options) => {
  test('keys and values are of layers that attend, states of the others', async () => {
    const model = await prepareModel(LFM2, { ...options, cacheDirectory: cache.path });
    expect(model.manifest).toMatchObject({
      family: 'lfm2',
      numLayers: 1,
      states: [
        { name: 'layers.0.convolution', width: 64 },
        { name: 'layers.2.convolution', width: 64 },
      ],
    });
    const mixed = await valuesOf(model.mixedGraphPath);
    const { inputs, outputs } = await valuesOf(model.graphPath);
    expect(inputs).toEqual(expect.arrayContaining(['state_from', 'state_to', 'state_tokens']));
    expect(mixed.inputs).toEqual(expect.arrayContaining([...inputs, 'prefill.state_from']));
    for (const name of ['layers.0.convolution', 'layers.2.convolution']) {
      expect(inputs).toContain(`past_states.${name}`);
      expect(outputs).toContain(`present_states.${name}`);
    }
    expect(inputs.filter((name) => name.includes('key_values'))).toEqual([
      'past_key_values.0.key',
      'past_key_values.0.value',
    ]);
  });
});

test('a graph in float16 is refused by name', async () => {
  const options = { precision: 'fp16', activationDtype: 'float16' } as const;
  await expect(prepareModel(LFM2, { ...options, cacheDirectory: cache.path })).rejects.toThrow(
    'lfm2 is computed in float32 and over slots alone: its layers have states',
  );
});
