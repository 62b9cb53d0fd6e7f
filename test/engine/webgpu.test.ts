import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { CPU_DEVICE, type DeviceOptions } from '../../src/engine/device.ts';
import type { EngineOptions, EngineRequest } from '../../src/engine/messages.ts';
import { openEngine } from '../../src/engine/open-engine.ts';
import { prepareModel } from '../../src/model/build.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { builtModels } from '../support/built-models.ts';
import { DecoderPair } from '../support/decoder-pair.ts';
import { EVERY_WAY, runDeviceScenario } from '../support/device-scenario.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { softwareDriver } from '../support/vulkan-driver.ts';

const driver = softwareDriver();
Object.assign(process.env, driver);
const models = await builtModels();
afterAll(() => models.remove());

const webgpu: DeviceOptions = { ...CPU_DEVICE, name: 'webgpu' };

describe.skipIf(driver === null)('on WebGPU', { timeout: 100_000 }, () => {
  it.each(['random weights', 'summit'])(
    'the decoder computes the logits that the CPU does: %s',
    async (name) => {
      const model =
        name === 'summit' ? await models.get(name) : await prepareModel(...models.randomTiny);
      const options = { device: webgpu, numRows: 4, maxModelLen: 64, maxDraftTokens: 3 };
      const pair = new DecoderPair(model, options);
      runDeviceScenario(pair);
      expect(pair.numRows).toBeGreaterThan(20);
      expect(pair.worst).toBeLessThan(1e-4);
      const { cpu, device } = pair.sample(EVERY_WAY);
      expect(device).toEqual(cpu);
      pair.release();
    },
  );

  it('the engine continues prompts with the same 16 tokens', async () => {
    const model = await models.get('summit');
    const requests = referenceRequests();
    const expected = run(model, CPU_DEVICE, requests);
    expect(expected.every((tokenIds) => tokenIds.length === 16)).toBe(true);
    expect(run(model, webgpu, requests)).toEqual(expected);
  });
});

/** More prompts than rows, two of which begin alike. */
function referenceRequests(): EngineRequest[] {
  const file = readFileSync('models/summit/reference.json', 'utf8');
  const { prompts } = JSON.parse(file) as { prompts: { ids: number[]; greedy: number[] }[] };
  const texts = prompts.slice(0, 3).map(({ ids }) => ids.slice(0, 40));
  const [first = []] = texts;
  const alike = [...first, ...(prompts[0]?.greedy.slice(0, 8) ?? [])];
  return [...texts, alike].map((ids, id) =>
    engineRequest({ id, promptTokenIds: Int32Array.from(ids), maxTokens: 16 }),
  );
}

/** The tokens of each request, three of which run at once. */
function run(
  model: BuiltModel,
  device: DeviceOptions,
  requests: readonly EngineRequest[],
): number[][] {
  const options: EngineOptions = {
    model,
    device,
    maxNumSeqs: 3,
    maxModelLen: 80,
    maxNumBatchedTokens: 24,
    threads: 0,
    kvCacheMemory: 2 ** 28,
    prefixCaching: true,
    targetItlMs: null,
    batching: 'continuous',
  };
  const { engine, decoder } = openEngine(options);
  const tokenIds: number[][] = requests.map(() => []);
  for (const request of requests) engine.add(request);
  while (engine.hasWork) {
    for (const output of engine.step()) tokenIds[output.id]?.push(output.tokenId);
  }
  decoder.release();
  return tokenIds;
}
