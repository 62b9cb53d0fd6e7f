import { describe, expect, test } from 'vitest';
import { hasFlag } from '../../src/ort/cpu-features.ts';
import { resolvePrecision } from '../../src/cli/precision.ts';
import { CPU_DEVICE } from '../../src/engine/device.ts';
import { parseDecoderConfig } from '../../src/model/config.ts';
import { PRECISIONS } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/presets.ts';

const onCpu = { device: CPU_DEVICE, supportsFp16: false };
const onGpu = { device: { ...CPU_DEVICE, name: 'webgpu' }, supportsFp16: false } as const;
const large = parseDecoderConfig(PRESETS['smollm2-135m'], 'preset');
const small = parseDecoderConfig(PRESETS.tiny, 'preset');

test.each(PRECISIONS)('%s is what it says', (precision) => {
  for (const config of [small, large]) {
    const choice = resolvePrecision(precision, null, config, false);
    expect(choice).toEqual({ precision, reason: null });
  }
});

describe('auto', () => {
  test.each([
    ['a large model on a CPU with fast int8', onCpu, large, true, 'int8'],
    ['a large model on a CPU without', null, large, false, 'fp32'],
    ['a small model', null, small, true, 'fp32'],
    ['another device', onGpu, large, true, 'fp32'],
  ] as const)('%s', (_, device, config, fastInt8, precision) => {
    const choice = resolvePrecision('auto', device, config, fastInt8);
    expect(choice.precision).toBe(precision);
    expect(choice.reason).toEqual(expect.any(String));
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
