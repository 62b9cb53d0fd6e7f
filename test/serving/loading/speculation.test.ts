import { describe, expect, it } from 'vitest';
import type { Options } from '../../../src/settings/options.ts';
import { speculation, wantsPrediction } from '../../../src/serving/loading/speculation.ts';
import { CPU_DEVICE, type DeviceOptions } from '../../../src/engine/gpu/device-options.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import type { Precision } from '../../../src/model/manifest.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';

type Flags = Options<
  'speculative' | 'speculativeTokens' | 'draftModel' | 'kvCacheDtype' | 'modelRepository'
>;

function choose(
  flags: Partial<Flags>,
  precision: Precision = 'fp32',
  device = CPU_DEVICE,
  nativeKernels?: BuildOptions['nativeKernels'],
) {
  const options: Flags = {
    speculative: 'auto',
    speculativeTokens: 8,
    draftModel: undefined,
    kvCacheDtype: 'auto',
    modelRepository: undefined,
    ...flags,
  };
  const choice = { precision, activationDtype: 'float32', nativeKernels } as const;
  const { vocabSize } = parseDecoderConfig(PRESETS.tiny, 'tiny');
  return speculation(options, choice, device, { vocabSize });
}

describe('--speculative', () => {
  it('guesses from texts by default, unless that could change them', async () => {
    const fromTexts = { draftModel: null, maxTokens: 8 };
    expect(await choose({})).toEqual(fromTexts);
    expect(await choose({}, 'fp16')).toEqual(fromTexts);
    expect(await choose({}, 'int8')).toBeNull();
    expect(await choose({}, 'int4')).toBeNull();
    const native = { kvCacheDtype: 'int8' } as const;
    expect(await choose({}, 'int4', CPU_DEVICE, native)).toEqual(fromTexts);
    expect(await choose({ kvCacheDtype: 'int8' })).toBeNull();
    expect(await choose({}, 'fp32', { ...CPU_DEVICE, name: 'cuda' })).toBeNull();
    expect(await choose({ speculative: 'ngram' }, 'int8')).toEqual(fromTexts);
    expect(await choose({ speculative: 'off' })).toBeNull();
  });

  it('takes the module of the model, on the CPU and with caches that the module has', async () => {
    const own = { draftModel: null, predicts: true, maxTokens: 8 };
    expect(await choose({ speculative: 'mtp' })).toEqual(own);
    expect(await choose({ speculative: 'mtp' }, 'int8')).toEqual(own);
    const wants = (
      flags: Partial<Flags>,
      precision: Precision = 'int8',
      name: DeviceOptions['name'] = 'cpu',
      nativeKernels?: BuildOptions['nativeKernels'],
    ) =>
      wantsPrediction(
        { speculative: 'mtp', kvCacheDtype: 'auto', ...flags },
        { precision, nativeKernels },
        { name },
      );
    expect(wants({ speculative: 'auto' })).toBe(false);
    expect(wants({})).toBe(true);
    const native = { kvCacheDtype: 'int8' } as const;
    expect(wants({ kvCacheDtype: 'int8' }, 'int8', 'cpu', native)).toBe(true);
    expect(() => wants({ kvCacheDtype: 'int8' })).toThrow(
      '--speculative mtp needs --kernels native for an int8 KV cache',
    );
    expect(() => wants({}, 'int8', 'cuda')).toThrow('needs --device cpu, not cuda');
    expect(() => wants({}, 'int8-static')).toThrow('does not go with --precision int8-static');
    await expect(choose({ speculative: 'mtp', draftModel: 'models/foothill' })).rejects.toThrow(
      '--draft-model is not used with --speculative mtp: leave it out',
    );
  });

  it('says which flags do not go together', async () => {
    await expect(choose({ speculative: 'draft' })).rejects.toThrow('needs a --draft-model');
    const draftModel = 'models/foothill';
    await expect(choose({ speculative: 'off', draftModel })).rejects.toThrow(
      '--draft-model is not used with --speculative off: leave it out',
    );
    await expect(choose({ draftModel })).rejects.toThrow(
      'the draft model has 4096 tokens and the model 512',
    );
  });
});
