import { expect, test } from 'vitest';
import { chooseDevice, modelObstacle } from '../../../src/serving/choices/device.ts';
import {
  type DeviceName,
  type DeviceProbe,
  NO_DEVICE,
} from '../../../src/engine/gpu/device-options.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';

const gemma2 = parseDecoderConfig({ ...PRESETS.tiny, model_type: 'gemma2' }, 'gemma2');
const llama = parseDecoderConfig(PRESETS.tiny, 'llama');
const flags = {
  device: 'auto',
  deviceId: 0,
  providerOption: undefined,
  providerLibrary: undefined,
  graphCapture: false,
} as const;
const works: DeviceProbe = { ...NO_DEVICE, activationDtypes: ['float32'] };
const software: DeviceProbe = { ...works, adapter: 'Slowpipe', isSoftware: true };

/** A machine with a GPU file, on which devices other than these are not there. */
function machine(probes: Partial<Record<DeviceName, DeviceProbe>>) {
  const missing = { ...NO_DEVICE, failure: 'no driver' };
  return {
    mayHaveGpu: true,
    probe: async ({ name }: { readonly name: DeviceName }) => probes[name] ?? missing,
  };
}

test('auto takes CUDA, else WebGPU, else the CPU, and says why', async () => {
  const onBoth = await chooseDevice(flags, llama, machine({ cuda: works, webgpu: works }));
  expect(onBoth).toMatchObject({ device: { name: 'cuda' }, reason: 'picked: it works' });
  const onOne = await chooseDevice(flags, llama, machine({ webgpu: works }));
  expect(onOne).toMatchObject({ device: { name: 'webgpu' }, reason: 'picked: cuda: no driver' });
  const onNone = await chooseDevice(flags, llama, machine({ webgpu: software }));
  expect(onNone.device.name).toBe('cpu');
  expect(onNone.reason).toMatch(/^picked: cuda: no driver; webgpu: its only adapter, Slowpipe,/);
  const nothing = await chooseDevice(flags, llama, {
    ...machine({ cuda: works }),
    mayHaveGpu: false,
  });
  expect(nothing).toMatchObject({
    device: { name: 'cpu' },
    reason: expect.stringContaining('no GPU'),
  });
});

test('--graph-capture holds where auto picks WebGPU, and is told not to elsewhere', async () => {
  const capture = { ...flags, graphCapture: true };
  const { device, reason } = await chooseDevice(capture, llama, machine({ webgpu: works }));
  expect(device).toMatchObject({ name: 'webgpu', graphCapture: true });
  expect(reason).not.toContain('--graph-capture');
  for (const other of [machine({ cuda: works }), machine({}), machine({ webgpu: software })]) {
    const chosen = await chooseDevice(capture, llama, other);
    expect(chosen.device.graphCapture).toBe(false);
    expect(chosen.reason).toMatch(/; --graph-capture is for WebGPU$/);
  }
});

test('--graph-capture is refused for a device that was asked for and is not WebGPU', async () => {
  for (const device of ['cpu', 'cuda', 'tensorrt'] as const) {
    const choice = chooseDevice(
      { ...flags, device, graphCapture: true },
      llama,
      machine({ cuda: works }),
    );
    await expect(choice).rejects.toThrow(
      `--graph-capture is for WebGPU, not for --device ${device}`,
    );
  }
});

test('WebGPU does not run models whose attention caps its scores', async () => {
  expect(modelObstacle('webgpu', gemma2)).toMatch(/attn_logit_softcapping/);
  expect(modelObstacle('webgpu', llama)).toBeNull();
  expect(modelObstacle('cuda', gemma2)).toBeNull();
  const asked = chooseDevice({ ...flags, device: 'webgpu' }, gemma2, machine({ webgpu: works }));
  await expect(asked).rejects.toThrow(
    /--device webgpu cannot run this model: .* \(supported: --device cpu, cuda\)/,
  );
});

test('what TensorRT compiles is kept, where flags say nothing else', async () => {
  const wanted = { ...flags, device: 'tensorrt' } as const;
  const kept = await chooseDevice(wanted, llama, machine({ tensorrt: works }));
  expect(kept.device.providerOptions).toMatchObject({
    trt_engine_cache_enable: '1',
    trt_timing_cache_enable: '1',
  });
  expect(kept.device.providerOptions['trt_engine_cache_path']).toMatch(/tensorrt$/);
  const own = { ...wanted, providerOption: { trt_engine_cache_enable: '0' } };
  const chosen = await chooseDevice(own, llama, machine({ tensorrt: works }));
  expect(chosen.device.providerOptions['trt_engine_cache_enable']).toBe('0');
});
