import { describe, expect, it } from 'vitest';
import { resolveExportPrecision } from '../../../src/serving/choices/export-precision.ts';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import type { ExportFolder } from '../../../src/model/export/export-folder.ts';
import type { ActivationDtype, Precision } from '../../../src/model/manifest.ts';

const webgpu = { ...CPU_DEVICE, name: 'webgpu' } as const;
const withHalf = { device: webgpu, activationDtypes: ['float16', 'float32'] } as const;
const withoutHalf = { device: webgpu, activationDtypes: ['float32'] } as const;

type Variant = readonly [name: string, Precision, ActivationDtype];
const fp32: Variant = ['model.onnx', 'fp32', 'float32'];
const fp16: Variant = ['model_fp16.onnx', 'fp16', 'float16'];
const int8: Variant = ['model_int8.onnx', 'int8', 'float32'];
const q4: Variant = ['model_q4.onnx', 'int4', 'float32'];
const q4f16: Variant = ['model_q4f16.onnx', 'int4', 'float16'];
const all = [fp32, fp16, int8, q4, q4f16];

function folder(variants: readonly Variant[], bytes = 1e9): ExportFolder {
  return {
    kind: 'export',
    path: '/models/it',
    config: {
      family: 'llama',
      vocabSize: 10,
      hiddenSize: null,
      maxPositionEmbeddings: 10,
      headDim: 16,
      numHeads: null,
      attentionSoftcap: null,
      inputIds: 'input_ids',
      logits: 'logits',
    },
    variants: variants.map(([name, precision, activationDtype]) => ({
      file: `/models/it/onnx/${name}`,
      precision,
      activationDtype,
      bytes,
    })),
  };
}

describe('--precision of an export', () => {
  it.each([
    ['auto', null, all, 'int4', 'float32', 'picked onnx/model_q4.onnx'],
    ['auto', null, [fp32, int8], 'int8', 'float32', 'picked onnx/model_int8.onnx'],
    ['fp32', null, all, 'fp32', 'float32', null],
    ['int4', null, all, 'int4', 'float32', null],
    ['int4', null, [q4f16], 'int4', 'float16', 'computes in float16, which CPUs do slowly'],
    ['auto', withHalf, all, 'fp16', 'float16', 'picked onnx/model_fp16.onnx'],
    ['int4', withHalf, all, 'int4', 'float16', null],
    ['int4', withHalf, [q4], 'int4', 'float32', null],
    ['int4', withoutHalf, all, 'int4', 'float32', null],
    ['auto', withoutHalf, all, 'fp32', 'float32', 'picked onnx/model.onnx'],
  ] as const)(
    '%s: takes the graph that the device computes best',
    (option, device, variants, precision, activationDtype, reason) => {
      const choice = resolveExportPrecision(option, device, folder(variants));
      expect(choice).toEqual({ precision, activationDtype, reason });
    },
  );

  it('is fp32 for small models', () => {
    expect(resolveExportPrecision('auto', null, folder(all, 1e6)).precision).toBe('fp32');
  });

  it('says what there is', () => {
    expect(() => resolveExportPrecision('int8', null, folder([fp32, q4f16]))).toThrow(
      'has no graph in int8 for cpu, only onnx/model.onnx (fp32, float32); ' +
        'onnx/model_q4f16.onnx (int4, float16)',
    );
    expect(() => resolveExportPrecision('auto', withoutHalf, folder([int8]))).toThrow(
      'has no graph for webgpu, only onnx/model_int8.onnx',
    );
  });
});
