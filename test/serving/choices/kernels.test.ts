import { describe, expect, it } from 'vitest';
import { type KernelCircumstances, resolveKernels } from '../../../src/serving/choices/kernels.ts';
import type { Options } from '../../../src/settings/options.ts';
import type { FoundKernels } from '../../../src/ort/native-kernels.ts';

const AVX2: FoundKernels = { instructions: 'avx2', isFast: true, register: () => {} };

function choose(
  flags: Partial<Options<'kernels' | 'kvCacheDtype'>> = {},
  circumstances: Partial<KernelCircumstances> = {},
  found: FoundKernels = AVX2,
) {
  return resolveKernels(
    { kernels: 'auto', kvCacheDtype: 'auto', ...flags },
    {
      precision: 'int8',
      activationDtype: 'float32',
      model: 'buildable',
      device: 'cpu',
      ...circumstances,
    },
    () => Promise.resolve(found),
  );
}

describe('--kernels', () => {
  it('takes our own where there are any, with the cache that is asked for', async () => {
    expect(await choose()).toEqual({
      nativeKernels: { kvCacheDtype: 'int8' },
      description: 'our own, avx2',
    });
    expect(await choose({}, { precision: 'int8-static' })).toEqual(await choose());
    const int8 = await choose({ kvCacheDtype: 'int8' }, { precision: 'int4' });
    expect(int8.nativeKernels).toEqual({ kvCacheDtype: 'int8' });
  });

  it.each([
    [{ precision: 'fp32' }, 'for int8 and int4, not for fp32'],
    [{ activationDtype: 'float16' }, 'for int8 and int4'],
    [{ model: 'export' }, 'not for ONNX exports'],
    [{ device: 'webgpu' }, 'for the CPU, not for webgpu'],
  ] as const)("takes ONNX Runtime's with %j, and says why ours do not go", async (what, why) => {
    expect(await choose({}, what)).toEqual({ description: null });
    await expect(choose({ kernels: 'native' }, what)).rejects.toThrow(why);
    await expect(choose({ kvCacheDtype: 'float16' }, what)).rejects.toThrow(why);
    await expect(choose({ kvCacheDtype: 'int4' }, what)).rejects.toThrow(
      `int4 needs our own kernels`,
    );
  });

  it.each([
    [{ missing: 'there are none for win32-x64' }, 'there are none for win32-x64'],
    [{ ...AVX2, isFast: false }, 'ours need AVX2'],
  ])('falls back with one line where the library is %j', async (found, why) => {
    const { nativeKernels, description } = await choose({}, {}, found);
    expect(nativeKernels).toBeUndefined();
    expect(description).toContain(`ONNX Runtime's: ${why}`);
    await expect(choose({ kernels: 'native' }, {}, found)).rejects.toThrow(why);
  });

  it.each(['int8-blocks', 'int4-mixed'] as const)(
    '%s has none of ONNX Runtime',
    async (precision) => {
      expect((await choose({}, { precision })).nativeKernels).toBeDefined();
      await expect(choose({ kernels: 'onnxruntime' }, { precision })).rejects.toThrow(
        `--precision ${precision} needs our own kernels: --kernels onnxruntime leaves them out`,
      );
      const missing = { missing: 'there are none for win32-x64' };
      await expect(choose({}, { precision }, missing)).rejects.toThrow(
        'there are none for win32-x64',
      );
    },
  );

  it("takes ONNX Runtime's where they are asked for", async () => {
    const { nativeKernels } = await choose({ kernels: 'onnxruntime' });
    expect(nativeKernels).toBeUndefined();
  });

  it("takes ONNX Runtime's for integers that ours have not, unless ours are asked for", async () => {
    const stored = { precision: 'int4', description: '4 bits in blocks of 16', bytes: 1 } as const;
    const other = { precision: 'int4', stored: { ...stored, isNative: false } } as const;
    const { nativeKernels, description } = await choose({}, other);
    expect(nativeKernels).toBeUndefined();
    expect(description).toMatch(
      /ONNX Runtime's: ours have no 4 bits in blocks of 16; --precision int8/,
    );
    expect((await choose({ kernels: 'native' }, other)).nativeKernels).toBeDefined();
    const own = { precision: 'int4', stored: { ...stored, isNative: true } } as const;
    expect((await choose({}, own)).nativeKernels).toBeDefined();
  });
});
