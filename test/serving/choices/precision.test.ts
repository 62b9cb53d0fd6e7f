import { describe, expect, test } from 'vitest';
import { hasFlag } from '../../../src/ort/cpu-features.ts';
import { cpuSpeed, resolvePrecision } from '../../../src/serving/choices/precision.ts';
import { hasLibrary } from '../../../src/ort/native-library.ts';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { PRECISIONS } from '../../../src/model/manifest.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';

const onCpu = { device: CPU_DEVICE, activationDtypes: ['float32'] } as const;
const webgpu = { ...CPU_DEVICE, name: 'webgpu' } as const;
const withHalf = { device: webgpu, activationDtypes: ['float16', 'float32'] } as const;
const withoutHalf = { device: webgpu, activationDtypes: ['float32'] } as const;
const onlyHalf = {
  device: { ...CPU_DEVICE, name: 'cuda' },
  activationDtypes: ['float16'],
} as const;
const shape = (preset: keyof typeof PRESETS) =>
  ({ kind: 'buildable', config: parseDecoderConfig(PRESETS[preset], preset) }) as const;
const large = shape('smollm2-135m');
const small = shape('tiny');

const SLOW = { fastInt8: false, ownKernels: false };
const WITHOUT_OURS = { fastInt8: true, ownKernels: false };
const FAST = { fastInt8: true, ownKernels: true };

test.each(PRECISIONS)('%s is what it says on a CPU', (precision) => {
  for (const config of [small, large]) {
    const choice = resolvePrecision(precision, null, config, SLOW);
    expect(choice).toEqual({ precision, activationDtype: 'float32', reason: null });
  }
});

test.each(['int8', 'int8-blocks', 'int8-static', 'int4-mixed'] as const)(
  '%s is for CPUs',
  (precision) => {
    expect(() => resolvePrecision(precision, withHalf, large)).toThrow(
      `--precision ${precision} needs a CPU; webgpu takes`,
    );
  },
);

describe('the precision picked', () => {
  test.each([
    ['a large model on a CPU with fast int8', onCpu, large, true, 'int8'],
    ['a large model on a CPU without', null, large, false, 'fp32'],
    ['a small model', null, small, true, 'fp32'],
    ['a device that computes in float16', withHalf, small, true, 'fp16'],
    ['a device that does not', withoutHalf, large, true, 'fp32'],
  ] as const)('suits %s', (_, device, config, fastInt8, precision) => {
    const choice = resolvePrecision('auto', device, config, { ...SLOW, fastInt8 });
    expect(choice.precision).toBe(precision);
    expect(choice.reason).toEqual(expect.any(String));
  });
});

const NO_FLOAT16 = 'computed in float32: this webgpu has no float16';

describe('on a GPU', () => {
  test.each([
    ['fp32', withHalf, 'fp32', 'float32', null],
    ['fp16', withHalf, 'fp16', 'float16', null],
    ['int4', onlyHalf, 'int4', 'float16', null],
    ['auto', onlyHalf, 'fp16', 'float16', 'the default on cuda'],
    ['fp16', withoutHalf, 'fp16', 'float32', NO_FLOAT16],
    ['int4', withoutHalf, 'int4', 'float32', NO_FLOAT16],
    ['auto', withoutHalf, 'fp32', 'float32', NO_FLOAT16],
  ] as const)(
    '%s is computed in what the device has',
    (option, device, precision, activationDtype, reason) => {
      const choice = resolvePrecision(option, device, large);
      expect(choice).toEqual({ precision, activationDtype, reason });
    },
  );

  test('a precision that has no operators is refused', () => {
    expect(() => resolvePrecision('int8', withHalf, large)).toThrow(/fp32, fp16 and int4/);
    expect(() => resolvePrecision('fp32', onlyHalf, large)).toThrow(/cuda has no attention in/);
  });
});

test('flags are whole words of the right line', () => {
  const x64 =
    'processor\t: 0\nmodel name\t: avx9\nflags\t\t: fpu avx2 avx512f\nbugs\t\t: spectre\n';
  expect(hasFlag(x64, 'avx2')).toBe(true);
  expect(hasFlag(x64, 'avx')).toBe(false);
  expect(hasFlag(x64, 'avx9')).toBe(false);
  expect(hasFlag('Features\t: fp asimd asimddp\n', 'asimddp')).toBe(true);
  expect(hasFlag('', 'avx2')).toBe(false);
});

describe('a checkpoint of integers', () => {
  const stored = {
    precision: 'int4',
    isNative: false,
    description: '4 bits in blocks of 32',
    bytes: 1,
  } as const;

  test('is kept where nothing else is asked for, whatever the CPU', () => {
    for (const cpu of [SLOW, WITHOUT_OURS, FAST]) {
      const choice = resolvePrecision('auto', null, { ...large, stored }, cpu);
      expect(choice).toMatchObject({ precision: 'int4', stored });
      expect(choice.reason).toContain('4 bits in blocks of 32');
    }
  });

  test('is kept in its own precision, and in no other', () => {
    expect(resolvePrecision('int4', null, { ...large, stored }).stored).toBe(stored);
    expect(resolvePrecision('int8', null, { ...large, stored }).stored).toBeUndefined();
    expect(resolvePrecision('auto', null, { ...small, stored }).precision).toBe('fp32');
  });

  test('ours are not counted on where ONNX Runtime’s are asked for', () => {
    expect(cpuSpeed('onnxruntime').ownKernels).toBe(false);
    expect(cpuSpeed('auto').ownKernels).toBe(hasLibrary());
  });

  test.each([
    ['kernels of ours that have them', true, FAST, 'int4'],
    ['kernels of ours that do not', false, FAST, 'int8'],
    ['no kernels of ours', true, WITHOUT_OURS, 'int8'],
    ['no fast int8', true, SLOW, 'int4'],
  ] as const)('with offsets, with %s', (_, isNative, cpu, precision) => {
    const withOffsets = { ...large, stored: { ...stored, isNative, hasOffsets: true } };
    expect(resolvePrecision('auto', null, withOffsets, cpu).precision).toBe(precision);
  });
});
