import { afterAll, describe, expect, it } from 'vitest';
import { CPU_DEVICE } from '../../../../src/engine/gpu/device-options.ts';
import { DeviceDecoder } from '../../../../src/engine/gpu/slots/device-decoder.ts';
import { Sequence } from '../../../../src/engine/sequence.ts';
import { type Segment, segmentOf } from '../../../../src/engine/step.ts';
import { prepareModel } from '../../../../src/model/build/prepare-model.ts';
import { builtModels } from '../../../support/built-models.ts';
import { DecoderPair } from '../../../support/decoder-pair.ts';
import { EVERY_WAY, runDeviceScenario } from '../../../support/device-scenario.ts';
import { engineRequest } from '../../../support/engine-requests.ts';

const models = await builtModels();
afterAll(() => models.remove());

/** The only token of a sequence in a slot. */
function segmentIn(slot: number, tokenId: number): Segment {
  const promptTokenIds = Int32Array.of(tokenId);
  const sequence = new Sequence(engineRequest({ id: slot, promptTokenIds }));
  sequence.slot = slot;
  return segmentOf(sequence, 1);
}

const options = { device: CPU_DEVICE, numSlots: 4, maxModelLen: 64, maxDraftTokens: 3 };

describe('the decoder on a device, here the CPU itself', () => {
  it('computes what the decoder on the CPU does', async () => {
    const pair = new DecoderPair(await prepareModel(...models.randomTiny), options);
    runDeviceScenario(pair);
    expect(pair.numRows).toBeGreaterThan(20);
    expect(pair.worst).toBeLessThan(1e-5);
    pair.release();
  });

  it('sends token ids and lengths up, and of greedy rows their token down', async () => {
    const model = await prepareModel(...models.randomTiny);
    const decoder = new DeviceDecoder(model, { ...options, numSlots: 32 });
    const segments = Array.from({ length: 32 }, (_, slot) => segmentIn(slot, slot));
    const { logits } = decoder.execute({ cacheOperations: [], segments });
    expect(logits).toHaveLength(32);
    // Per slot: its token, its length and its place; and the longest length. Down: token and logit.
    expect(decoder.traffic).toEqual({ bytesUp: 32 * (8 + 4 + 8) + 4, bytesDown: 32 * (8 + 4) });
    decoder.release();
  });

  it('draws the tokens that the CPU does, from as few logits as that takes', async () => {
    const pair = new DecoderPair(await models.get('summit'), options);
    for (let seed = 0n; seed < 20n; seed++) {
      const { cpu, device } = pair.sample(EVERY_WAY.map((params) => ({ ...params, seed })));
      expect(device).toEqual(cpu);
    }
    const before = pair.device.traffic.bytesDown;
    pair.sample(EVERY_WAY.slice(0, 2));
    // 64 tokens and logits of each row, and a weight.
    expect(pair.device.traffic.bytesDown - before).toBe(2 * (64 * (8 + 4) + 4));
    pair.release();
  });

  it('draws what the CPU does with numbers as small as they can be', async () => {
    const pair = new DecoderPair(await models.get('summit'), options);
    const { cpu, device } = pair.sample([
      { temperature: 0 },
      { temperature: 1e-320 },
      { temperature: 1e-5, topP: 1e-320 },
      { temperature: 2, minP: 5e-324, topK: 2 },
    ]);
    expect(device).toEqual(cpu);
    const likeliest = pair.sample(cpu.map(() => ({ temperature: 0 })));
    expect(cpu.slice(0, 3)).toEqual(likeliest.cpu.slice(0, 3));
    pair.release();
  });

  it('fails only the sequence with a token outside of the vocabulary', async () => {
    const model = await prepareModel(...models.randomTiny);
    const decoder = new DeviceDecoder(model, options);
    const [good, bad] = [segmentIn(0, 3), segmentIn(1, 512)];
    const result = decoder.execute({ cacheOperations: [], segments: [good, bad] });
    decoder.release();
    expect(result.logits.map(({ segment }) => segment)).toEqual([good]);
    expect(result.failures).toEqual([
      { sequence: bad.sequence, message: 'token 512 is out of range: the vocabulary has 512' },
    ]);
  });
});
