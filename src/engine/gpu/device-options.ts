import type { ActivationDtype } from '../../model/manifest.ts';
import type { ExecutionProvider } from '../../ort/execution-provider.ts';

/** Devices that models run on, the fastest first. */
export const DEVICE_NAMES = ['tensorrt', 'cuda', 'webgpu', 'cpu'] as const;
export type DeviceName = (typeof DEVICE_NAMES)[number];

/** A device to compute on, and how its execution provider is set up. */
export interface DeviceOptions {
  readonly name: DeviceName;
  /** Which device of that kind, from 0. */
  readonly id: number;
  /** For the execution provider, as ONNX Runtime names them. */
  readonly providerOptions: Readonly<Record<string, string>>;
  /** A plugin to take the provider from, in place of what onnxruntime-node ships. */
  readonly providerLibrary: { readonly name: string; readonly path: string } | null;
  /** Decode runs are recorded once and replayed from then on; WebGPU alone. */
  readonly graphCapture: boolean;
}

export const CPU_DEVICE: DeviceOptions = {
  name: 'cpu',
  id: 0,
  providerOptions: {},
  providerLibrary: null,
  graphCapture: false,
};

/** Properties found by probing a device. */
export interface DeviceProbe {
  /** Why no session runs on it; null if one does. */
  readonly failure: string | null;
  /** As its driver calls it; null where that can't be known. */
  readonly adapter: string | null;
  /** The driver computes on the CPU. */
  readonly isSoftware: boolean;
  /** Memory of the device, in bytes; null if unknown. */
  readonly memoryBytes: number | null;
  /** Activation types that decoders can compute in on this device, the fastest first. */
  readonly activationDtypes: readonly ActivationDtype[];
  /** It has a kernel for attention over a paged KV cache. */
  readonly hasPagedAttention: boolean;
}

/** A device about which nothing is known. */
export const NO_DEVICE: DeviceProbe = {
  failure: null,
  adapter: null,
  isSoftware: false,
  memoryBytes: null,
  activationDtypes: [],
  hasPagedAttention: false,
};

/** The execution providers of a device, in order of preference. */
export function executionProviders(device: DeviceOptions): ExecutionProvider[] {
  const { id, providerOptions, providerLibrary } = device;
  const cuda = { device_id: String(id), arena_extend_strategy: 'kSameAsRequested' };
  if (device.name === 'cpu') return [];
  if (providerLibrary) {
    const library = { ...providerLibrary, deviceIndex: id };
    return [{ name: device.name, options: providerOptions, library }];
  }
  switch (device.name) {
    case 'webgpu':
      return [{ name: 'WebGPU', options: providerOptions }];
    case 'cuda':
      return [{ name: 'CUDA', options: { ...cuda, ...providerOptions } }];
    case 'tensorrt':
      return [
        { name: 'TensorRT', options: { device_id: String(id), ...providerOptions } },
        // For what TensorRT has no operator for, attention first of all.
        { name: 'CUDA', options: cuda },
      ];
  }
}
