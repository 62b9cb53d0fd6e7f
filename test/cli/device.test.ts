import { expect, test } from 'vitest';
import { chooseDevice, modelObstacle } from '../../src/cli/device.ts';
import { parseDecoderConfig } from '../../src/model/config.ts';
import { PRESETS } from '../../src/model/presets.ts';

const gemma2 = parseDecoderConfig({ ...PRESETS.tiny, model_type: 'gemma2' }, 'gemma2');
const llama = parseDecoderConfig(PRESETS.tiny, 'llama');

test('WebGPU does not run models whose attention caps its scores', async () => {
  expect(modelObstacle('webgpu', gemma2)).toMatch(/attn_logit_softcapping/);
  expect(modelObstacle('webgpu', llama)).toBeNull();
  expect(modelObstacle('cuda', gemma2)).toBeNull();
  const flags = { device: 'webgpu', deviceId: 0, graphCapture: false } as const;
  await expect(
    chooseDevice({ ...flags, providerOption: undefined, providerLibrary: undefined }, gemma2),
  ).rejects.toThrow(/--device webgpu cannot run this model: .* \(supported: --device cpu, cuda\)/);
});
