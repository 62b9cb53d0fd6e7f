/** Whether the tests of this suite run on what they are there for. */
import { arch } from 'node:process';
import { expect, it } from 'vitest';
import { loadNativeKernels } from '../../src/ort/native-kernels.ts';
import { PREBUILT } from '../../src/ort/native-library.ts';

it('is an ARM64 machine, whose kernels of ours are those of NEON with i8mm', () => {
  expect(arch).toBe('arm64');
  expect(loadNativeKernels(PREBUILT)).toMatchObject({ instructions: 'i8mm', isFast: true });
});
