import type { ActivationDtype } from '../../model/manifest.ts';
import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { cudaDevices } from '../../ort/cuda-devices.ts';
import { IoBinding } from '../../ort/io-binding.ts';
import { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import { vulkanDevices } from '../../ort/vulkan-devices.ts';
import { deviceOnly, loadAttention, loadPagedAttention } from './attention-probe.ts';
import { type DeviceOptions, type DeviceProbe, NO_DEVICE } from './device-options.ts';

type Adapter = Pick<DeviceProbe, 'adapter' | 'isSoftware' | 'memoryBytes'>;

/** Runs a small graph on a device. A broken driver can crash the process that does this. */
export function probeDevice(device: DeviceOptions): DeviceProbe {
  const adapter = adapterOf(device);
  if (adapter === null) {
    const failure = `no ${device.name === 'webgpu' ? 'Vulkan' : 'NVIDIA'} driver was found`;
    return { ...NO_DEVICE, failure };
  }
  const failure = failureOf(() => runSmallGraph(device, 'float', Float32Array.of(1, 2, 3, 4)));
  if (failure !== null) return { ...NO_DEVICE, ...adapter, failure };
  const works = (action: () => void) => failureOf(action) === null;
  // 1, 2, 3 and 4 in half precision. WebGPU makes sessions that its adapter can't run.
  const halves = Uint16Array.of(0x3c00, 0x4000, 0x4200, 0x4400);
  const hasHalf =
    works(() => runSmallGraph(device, 'float16', halves)) &&
    works(() => loadAttention(device, 'float16'));
  const activationDtypes: ActivationDtype[] = hasHalf ? ['float16'] : [];
  if (works(() => loadAttention(device, 'float'))) activationDtypes.push('float32');
  return {
    ...adapter,
    failure: activationDtypes.length > 0 ? null : 'it has no attention',
    activationDtypes,
    hasPagedAttention: hasHalf && works(() => loadPagedAttention(device)),
  };
}

/** Adapter as reported by the device's driver; null if none exists. */
function adapterOf({ name, id }: DeviceOptions): Adapter | null {
  if (name === 'webgpu') {
    // Elsewhere WebGPU lies on Metal or Direct3D, which are always there.
    if (process.platform !== 'linux') return NO_DEVICE;
    const devices = vulkanDevices();
    const device = devices.find(({ isSoftware }) => !isSoftware) ?? devices[0];
    if (!device) return null;
    const { memoryBytes, isSoftware } = device;
    return { adapter: device.name, isSoftware, memoryBytes };
  }
  const device = cudaDevices()[id];
  if (!device) return null;
  return { adapter: device.name, isSoftware: false, memoryBytes: device.memoryBytes };
}

/** @throws OrtError when the device can't; Error when it computes something else */
function runSmallGraph<T extends 'float' | 'float16'>(
  device: DeviceOptions,
  type: T,
  values: T extends 'float' ? Float32Array<ArrayBuffer> : Uint16Array<ArrayBuffer>,
): void {
  const graph = new GraphBuilder('probe');
  graph.input('x', type, [2, 2]);
  graph.node('y', 'Transpose', ['x'], { attributes: { perm: [1n, 0n] } });
  graph.node('z', 'Add', ['y', 'y']);
  graph.output('z', type, [2, 2]);
  const session = new Session(graph.toBytes(), deviceOnly(device));
  const result = values.slice();
  const binding = new IoBinding(session);
  const tensors = [
    Tensor.over<'float' | 'float16'>(type, [2, 2], values),
    Tensor.over<'float' | 'float16'>(type, [2, 2], result),
  ] as const;
  binding.bindInput('x', tensors[0]);
  binding.bindOutput('z', tensors[1]);
  session.run(binding);
  for (const tensor of tensors) tensor.release();
  session.release();
  // Doubling adds one to the exponent, which is what lies above the mantissa.
  const exponent = type === 'float' ? null : 0x400;
  const [a = 0, b = 0, c = 0, d = 0] = values;
  const expected = [a, c, b, d].map((value) => (exponent === null ? value * 2 : value + exponent));
  if (!expected.every((value, index) => value === result[index])) {
    throw new Error('it computes wrong results');
  }
}

/** Runs `action`; returns why it failed in a line, or null. */
function failureOf(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.trim().split('\n')[0] ?? message;
  }
}
