import { afterAll, describe, expect, it } from 'vitest';
import {
  deviceOnly,
  loadAttention,
  loadPagedAttention,
} from '../../src/engine/gpu/attention-probe.ts';
import { CPU_DEVICE } from '../../src/engine/gpu/device-options.ts';
import { DeviceDecoder } from '../../src/engine/gpu/slots/device-decoder.ts';
import { probeDevice } from '../../src/engine/gpu/device-probe.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { Session } from '../../src/ort/session.ts';
import { builtModels } from '../support/built-models.ts';
import { needs } from '../support/needs.ts';
import { SOFTWARE_VULKAN, softwareDriver } from '../support/vulkan-driver.ts';

const driver = softwareDriver();
Object.assign(process.env, driver);
const models = await builtModels();
afterAll(() => models.remove());

const webgpu = { ...CPU_DEVICE, name: 'webgpu' } as const;
const [tiny, build] = models.randomTiny;
const half = { ...build, activationDtype: 'float16' } as const;

describe('WebGPU on a driver without shader-f16', needs(SOFTWARE_VULKAN), () => {
  it('is found to compute in float32 only, and so to have no PagedAttention', () => {
    expect(probeDevice(webgpu)).toMatchObject({
      failure: null,
      isSoftware: true,
      activationDtypes: ['float32'],
      hasPagedAttention: false,
    });
  });

  // The probe therefore runs something: sessions in float16 can be made all the same.
  it('has the kernels in float16, and fails when one is to run', async () => {
    loadAttention(webgpu, 'float16');
    loadPagedAttention(webgpu);
    const model = await prepareModel(tiny, { ...half, precision: 'fp16' });
    const open = () => new DeviceDecoder(model, { device: webgpu, numSlots: 1, maxModelLen: 16 });
    expect(open).toThrow(/requires f16/);
  });

  it.each(['fp16', 'int4'] as const)(
    'has a kernel for every node in float16: %s',
    async (precision) => {
      const { pagedGraphPath } = await prepareModel(tiny, { ...half, precision });
      const load = () => new Session(pagedGraphPath ?? '', deviceOnly(webgpu)).release();
      expect(load).not.toThrow();
    },
  );
});
