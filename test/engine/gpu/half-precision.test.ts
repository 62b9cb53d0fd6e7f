import { afterAll, describe, expect, it } from 'vitest';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import { bytesOfPositions } from '../../../src/engine/kv-shape.ts';
import { DeviceDecoder } from '../../../src/engine/gpu/slots/device-decoder.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { builtModels } from '../../support/built-models.ts';
import { DecoderPair } from '../../support/decoder-pair.ts';
import { EVERY_WAY, runDeviceScenario } from '../../support/device-scenario.ts';

const models = await builtModels();
afterAll(() => models.remove());

const [random, build] = models.randomTiny;
const summit = { kind: 'folder', path: 'models/summit' } as const;
const half = { ...build, activationDtype: 'float16' } as const;
const options = { device: CPU_DEVICE, numSlots: 4, maxModelLen: 64, maxDraftTokens: 3 };

/**
 * float16 has 11 significant bits, so that every node rounds by up to 2^-11 of a value's size. These
 * errors add up like random ones over the layers, and the logits themselves are rounded: a few
 * roundings in all. Where activations are quantized to 8 bits for int4 weights, a rounding in float16
 * can move one to the next integer, 2^-7 of its block's largest: the same graph with products in float
 * was within 2^-10.
 *
 * Measured, against the largest logit: fp16 2^-11.6 and (summit) 2^-10.4, int4 2^-7.9 and 2^-5.8.
 */
describe('the decoder in float16', () => {
  it.each([
    ['random weights, fp16', random, 'fp16', 'fp32', 2 ** -8],
    ['random weights, int4', random, 'int4', 'int4', 2 ** -6],
    ['summit, fp16', summit, 'fp16', 'fp32', 2 ** -8],
    ['summit, int4', summit, 'int4', 'int4', 2 ** -4],
  ] as const)(
    'computes what the one in float32 does: %s',
    async (_, source, precision, reference, tolerance) => {
      const model = await prepareModel(source, { ...half, precision });
      const inFloat32 = await prepareModel(source, { ...build, precision: reference });
      const pair = new DecoderPair(model, options, inFloat32);
      runDeviceScenario(pair);
      expect(pair.numRows).toBeGreaterThan(20);
      expect(pair.worst).toBeLessThan(tolerance * pair.largest);
      pair.release();
    },
  );

  it('draws from few logits what it does from all of them', async () => {
    const model = await prepareModel(summit, { ...half, precision: 'fp16' });
    const pair = new DecoderPair(model, options);
    for (let seed = 0n; seed < 10n; seed++) {
      const { cpu, device } = pair.sample(EVERY_WAY.map((params) => ({ ...params, seed })));
      expect(device).toEqual(cpu);
    }
    pair.release();
  });

  it('has a cache of half the size', async () => {
    const decoders = await Promise.all(
      [half, build].map(async (formats) => {
        const model = await prepareModel(random, { ...formats, precision: 'fp16' });
        return new DeviceDecoder(model, options);
      }),
    );
    const [inFloat16 = 0, inFloat32 = 0] = decoders.map(({ storage }) =>
      bytesOfPositions(storage.shape, 1),
    );
    expect(inFloat16).toBe(inFloat32 / 2);
    for (const decoder of decoders) decoder.release();
  });
});
